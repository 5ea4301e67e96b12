-- priv.ldp_epsilon(retention, m) -> DOUBLE
--
-- The parameter of local differential privacy of uniform perturbation: ln(1 + m p / (1 - p)).
--
--   SELECT priv.ldp_epsilon(0.5, 14);

CREATE OR REPLACE MACRO priv.ldp_epsilon(retention, m) AS
    [CASE WHEN NOT coalesce(given.m >= 2, false)
        THEN error('a domain needs at least 2 values, got ' || left(coalesce(m::VARCHAR, 'NULL'), 100)
            || chr(10) || 'Hint: m is the number of values that a record can have')
    WHEN coalesce(given.retention > 0 AND given.retention < 1, false)
        THEN ln(1 + given.m * given.retention / (1 - given.retention))
    ELSE error('retention must lie strictly between 0 and 1, got ' || left(coalesce(retention::VARCHAR, 'NULL'), 100)
        || chr(10) || 'Hint: it is the probability that a record keeps its value; 0.2 to 0.5 is usual') END
     FOR given IN [{m: TRY_CAST(m AS DOUBLE), retention: TRY_CAST(retention AS DOUBLE)}]][1];

COMMENT ON MACRO priv.ldp_epsilon IS
    'Local differential privacy parameter of uniform perturbation over m values.';

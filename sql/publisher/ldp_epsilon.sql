-- priv.ldp_epsilon(retention, m) -> DOUBLE
--
-- The parameter of local differential privacy of uniform perturbation: ln(1 + m p / (1 - p)).
--
--   SELECT priv.ldp_epsilon(0.5, 14);

CREATE OR REPLACE MACRO priv.ldp_epsilon(retention, m) AS
    CASE WHEN NOT coalesce(m >= 2, false)
        THEN error('a domain needs at least 2 values, got ' || coalesce(m::VARCHAR, 'NULL'))
    WHEN coalesce(retention > 0 AND retention < 1, false)
        THEN ln(1 + m * retention::DOUBLE / (1 - retention::DOUBLE))
    ELSE error('retention must lie strictly between 0 and 1, got ' || coalesce(retention::VARCHAR, 'NULL')) END;

COMMENT ON MACRO priv.ldp_epsilon IS
    'Local differential privacy parameter of uniform perturbation over m values.';

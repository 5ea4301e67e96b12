-- priv.max_retention(rho1, rho2, m) -> DOUBLE
--
-- The largest retention with which uniform perturbation over m values satisfies (rho1, rho2).
--
--   SELECT priv.max_retention(0.1, 0.5, 14);

CREATE OR REPLACE MACRO priv.max_retention(rho1, rho2, m) AS
    [CASE WHEN coalesce(given.m >= 2, false)
        THEN (priv.amplification_gamma(rho1, rho2) - 1) / (given.m - 1 + priv.amplification_gamma(rho1, rho2))
        ELSE error('a domain needs at least 2 values, got ' || left(coalesce(m::VARCHAR, 'NULL'), 100)
            || chr(10) || 'Hint: m is the number of values that a record can have') END
     FOR given IN [{m: TRY_CAST(m AS DOUBLE)}]][1];

COMMENT ON MACRO priv.max_retention IS
    'Largest retention of uniform perturbation over m values that satisfies (rho1, rho2).';

-- priv.amplification_gamma(rho1, rho2) -> DOUBLE
--
-- The largest ratio between two probabilities of one published value that keeps every prior of at most rho1 from
-- rising above rho2: rho2 (1 - rho1) / (rho1 (1 - rho2)).
--
--   SELECT priv.amplification_gamma(0.1, 0.5);

CREATE OR REPLACE MACRO priv.amplification_gamma(rho1, rho2) AS
    [CASE WHEN coalesce(given.rho1 > 0 AND given.rho1 < given.rho2 AND given.rho2 < 1, false)
        THEN given.rho2 * (1 - given.rho1) / (given.rho1 * (1 - given.rho2))
        ELSE error('rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got ' || left(coalesce(rho1::VARCHAR, 'NULL'), 100)
            || ' and ' || left(coalesce(rho2::VARCHAR, 'NULL'), 100)
            || chr(10) || 'Hint: a prior of rho1 may become a posterior of rho2, such as 0.1 and 0.5') END
     FOR given IN [{rho1: TRY_CAST(rho1 AS DOUBLE), rho2: TRY_CAST(rho2 AS DOUBLE)}]][1];

COMMENT ON MACRO priv.amplification_gamma IS
    'Largest amplification that keeps priors of at most rho1 from becoming posteriors above rho2.';

-- priv.amplification_gamma(rho1, rho2) -> DOUBLE
--
-- The largest ratio between two probabilities of one published value that keeps every prior of at most rho1 from
-- rising above rho2: rho2 (1 - rho1) / (rho1 (1 - rho2)).
--
--   SELECT priv.amplification_gamma(0.1, 0.5);

CREATE OR REPLACE MACRO priv.amplification_gamma(rho1, rho2) AS
    CASE WHEN coalesce(rho1 > 0 AND rho1 < rho2 AND rho2 < 1, false)
        THEN rho2::DOUBLE * (1 - rho1::DOUBLE) / (rho1::DOUBLE * (1 - rho2::DOUBLE))
        ELSE error('rho1 and rho2 must satisfy 0 < rho1 < rho2 < 1, got ' || coalesce(rho1::VARCHAR, 'NULL')
            || ' and ' || coalesce(rho2::VARCHAR, 'NULL')) END;

COMMENT ON MACRO priv.amplification_gamma IS
    'Largest amplification that keeps priors of at most rho1 from becoming posteriors above rho2.';

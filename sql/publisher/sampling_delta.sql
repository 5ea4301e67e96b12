-- priv.sampling_delta(k, beta, epsilon) -> DOUBLE
--
-- The delta with which safe k-anonymity on a sample is (epsilon, delta)-differentially private: each record is sampled with
-- probability beta, generalized by a scheme that does not depend on the sample, and groups under k are suppressed. epsilon
-- must be at least -ln(1 - beta). Li, Qardaji, Su (ASIACCS 2012), theorem 3.9.
--
--   SELECT priv.sampling_delta(20, 0.1, 1.0);

CREATE OR REPLACE MACRO priv.sampling_delta(k, beta, epsilon) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('sampling_delta', [TRY_CAST(k AS DOUBLE), TRY_CAST(beta AS DOUBLE), TRY_CAST(epsilon AS DOUBLE)])]][1];

COMMENT ON MACRO priv.sampling_delta IS
    'Delta of safe k-anonymity on a sample at rate beta, at the given epsilon.';

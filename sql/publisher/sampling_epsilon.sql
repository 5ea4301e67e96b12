-- priv.sampling_epsilon(k, beta, delta) -> DOUBLE
--
-- The smallest epsilon with which safe k-anonymity on a sample at rate beta is (epsilon, delta)-differentially
-- private; never below -ln(1 - beta).
--
--   SELECT priv.sampling_epsilon(20, 0.1, 1e-6);

CREATE OR REPLACE MACRO priv.sampling_epsilon(k, beta, delta) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('sampling_epsilon', [TRY_CAST(k AS DOUBLE), TRY_CAST(beta AS DOUBLE), TRY_CAST(delta AS DOUBLE)])]][1];

COMMENT ON MACRO priv.sampling_epsilon IS
    'Smallest epsilon of safe k-anonymity on a sample at rate beta, at the given delta.';

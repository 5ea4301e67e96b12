-- priv.sampling_k(beta, epsilon, delta) -> BIGINT
--
-- The smallest k with which safe k-anonymity on a sample at rate beta is (epsilon, delta)-differentially private.
--
--   SELECT priv.sampling_k(0.1, 1.0, 1e-6);

CREATE OR REPLACE MACRO priv.sampling_k(beta, epsilon, delta) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value::BIGINT ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('sampling_k', [TRY_CAST(beta AS DOUBLE), TRY_CAST(epsilon AS DOUBLE), TRY_CAST(delta AS DOUBLE)])]][1];

COMMENT ON MACRO priv.sampling_k IS
    'Smallest k of safe k-anonymity on a sample at rate beta that is (epsilon, delta)-private.';

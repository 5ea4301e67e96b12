-- priv.amplified_delta(delta, beta) -> DOUBLE
--
-- The delta of an (epsilon, delta)-differentially private algorithm that runs on a random sample at rate beta:
-- beta delta. It belongs to priv.amplified_epsilon.
--
--   SELECT priv.amplified_delta(1e-5, 0.1);

CREATE OR REPLACE MACRO priv.amplified_delta(delta, beta) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('amplified_delta', [TRY_CAST(delta AS DOUBLE), TRY_CAST(beta AS DOUBLE)])]][1];

COMMENT ON MACRO priv.amplified_delta IS
    'Delta of an (epsilon, delta)-private algorithm that runs on a random sample at rate beta.';

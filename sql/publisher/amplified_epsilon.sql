-- priv.amplified_epsilon(epsilon, beta) -> DOUBLE
--
-- The epsilon of an epsilon-differentially private algorithm that runs on a random sample at rate beta: ln(1 + beta
-- (exp(epsilon) - 1)). If the algorithm already needs a sample at rate b, and gets one at the lower rate b', beta is b'/b.
-- Li, Qardaji, Su (ASIACCS 2012), theorem 1; its delta is priv.amplified_delta.
--
--   SELECT priv.amplified_epsilon(1.0, 0.1);

CREATE OR REPLACE MACRO priv.amplified_epsilon(epsilon, beta) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('amplified_epsilon', [TRY_CAST(epsilon AS DOUBLE), TRY_CAST(beta AS DOUBLE)])]][1];

COMMENT ON MACRO priv.amplified_epsilon IS
    'Epsilon of an epsilon-private algorithm that runs on a random sample at rate beta.';

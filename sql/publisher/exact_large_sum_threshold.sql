-- priv.exact_large_sum_threshold(gamma, epsilon, error_probability) -> DOUBLE
--
-- The smallest true count from which on a published count of decoy groups of gamma is off by the relative error epsilon or
-- more with at most error_probability, by the exact binomial distribution.
--
--   SELECT priv.exact_large_sum_threshold(10, 0.1, 0.1);

CREATE OR REPLACE MACRO priv.exact_large_sum_threshold(gamma, epsilon, error_probability) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('exact_large_sum_threshold', [TRY_CAST(gamma AS DOUBLE), TRY_CAST(epsilon AS DOUBLE), TRY_CAST(error_probability AS DOUBLE)])]][1];

COMMENT ON MACRO priv.exact_large_sum_threshold IS
    'Least true count from which on a published count of decoy groups is off by epsilon rarely enough.';

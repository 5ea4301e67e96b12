-- priv.large_sum_threshold(gamma, epsilon, error_probability) -> DOUBLE
--
-- The true count from which on a published count of decoy groups of gamma is off by the relative error epsilon or more with
-- at most error_probability: (1 - 1/gamma) / (epsilon^2 error_probability), by Chebyshev. The paper divides by the count
-- twice (theorem 3), and promises far too much. priv.exact_large_sum_threshold is the smallest such count.
--
--   SELECT priv.large_sum_threshold(10, 0.1, 0.1);

CREATE OR REPLACE MACRO priv.large_sum_threshold(gamma, epsilon, error_probability) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('large_sum_threshold', [TRY_CAST(gamma AS DOUBLE), TRY_CAST(epsilon AS DOUBLE), TRY_CAST(error_probability AS DOUBLE)])]][1];

COMMENT ON MACRO priv.large_sum_threshold IS
    'True count from which on a published count of decoy groups is off by epsilon rarely enough, by Chebyshev.';

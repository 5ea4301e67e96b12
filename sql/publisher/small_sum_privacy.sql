-- priv.small_sum_privacy(gamma, epsilon, alpha) -> DOUBLE
--
-- The smallest probability that a published count of decoy groups of gamma that is truly 1 to alpha is off by more than the
-- relative error epsilon. Exact binomials, the ends of the window in whole numbers. It is about the published count, not
-- about every way to guess. Fu, Wang and others, "Small sum privacy and large sum utility in data publishing", lemma 2 and
-- theorem 4.
--
--   SELECT priv.small_sum_privacy(10, 0.3, 3);

CREATE OR REPLACE MACRO priv.small_sum_privacy(gamma, epsilon, alpha) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate('small_sum_privacy', [TRY_CAST(gamma AS DOUBLE), TRY_CAST(epsilon AS DOUBLE), TRY_CAST(alpha AS DOUBLE)])]][1];

COMMENT ON MACRO priv.small_sum_privacy IS
    'Probability, at least, that a published count of decoy groups up to alpha is off by more than epsilon.';

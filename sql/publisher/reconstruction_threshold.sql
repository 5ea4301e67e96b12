-- priv.reconstruction_threshold(max_frequency, m, retention, epsilon, delta
--   [, bound := 'simplified' | 'chernoff' | 'exact']) -> DOUBLE
--
-- How many records of a micro group may be perturbed independently, if no value is more frequent than max_frequency: by the
-- bounds of the paper, equations (10) and (9), or the largest number for which the exact tails really are at least delta (0
-- if there is none).
--
--   SELECT priv.reconstruction_threshold(0.5, 14, 0.5, 0.3, 0.3);

CREATE OR REPLACE MACRO priv.reconstruction_threshold(max_frequency, m, retention, epsilon, delta, bound := 'simplified') AS
    CASE WHEN coalesce(bound::VARCHAR IN ('simplified', 'chernoff', 'exact'), false) THEN
        [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
         FOR answer IN [_priv_calculate(bound::VARCHAR || '_reconstruction_threshold',
             [TRY_CAST(max_frequency AS DOUBLE), TRY_CAST(m AS DOUBLE), TRY_CAST(retention AS DOUBLE), TRY_CAST(epsilon AS DOUBLE), TRY_CAST(delta AS DOUBLE)])]][1]
    ELSE error('there is no bound ' || coalesce('''' || left(bound::VARCHAR, 100) || '''', 'NULL') || chr(10)
        || 'Hint: choose ''simplified'', ''chernoff'' or ''exact''') END;

COMMENT ON MACRO priv.reconstruction_threshold IS
    'How many records of a micro group reconstruction privacy lets be perturbed independently.';

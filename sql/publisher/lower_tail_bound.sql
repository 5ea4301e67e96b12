-- priv.lower_tail_bound(frequency, m, retention, epsilon, group_size
--   [, bound := 'simplified' | 'chernoff' | 'exact']) -> DOUBLE
--
-- Bounds the probability that the share of a value in a micro group is reconstructed too low by more than the factor
-- epsilon. The group has group_size records, and the value the given frequency among them. 'chernoff' and 'simplified' are
-- the bounds of Wang, Han and Fu, equations (2) to (8); at priv.reconstruction_threshold records the lower one is delta.
-- They bound the tail from above and so promise nothing; 'exact' is the tail itself.
--
--   SELECT priv.lower_tail_bound(0.5, 14, 0.5, 0.3, 122), priv.lower_tail_bound(0.5, 14, 0.5, 0.3, 122, bound := 'exact');

CREATE OR REPLACE MACRO priv.lower_tail_bound(frequency, m, retention, epsilon, group_size, bound := 'simplified') AS
    CASE WHEN coalesce(bound::VARCHAR IN ('simplified', 'chernoff', 'exact'), false) THEN
        [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
         FOR answer IN [_priv_calculate(bound::VARCHAR || '_lower_tail_bound',
             [TRY_CAST(frequency AS DOUBLE), TRY_CAST(m AS DOUBLE), TRY_CAST(retention AS DOUBLE), TRY_CAST(epsilon AS DOUBLE),
              TRY_CAST(group_size AS DOUBLE)])]][1]
    ELSE error('there is no bound ' || coalesce('''' || left(bound::VARCHAR, 100) || '''', 'NULL') || chr(10)
        || 'Hint: choose ''simplified'', ''chernoff'' or ''exact''') END;

COMMENT ON MACRO priv.lower_tail_bound IS
    'How likely at most a share in a micro group is reconstructed too low: the bounds of reconstruction privacy.';

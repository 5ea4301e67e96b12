-- FROM priv.reconstructed_joint(release, [attributes], [values] [, group_columns := 'gender, age']
--   [, condition := 'age > 30'] [, method := 'bayesian'] [, tolerance := 0.01] [, confidence := 0.95]
--   [, database := 'alias'])
--   -> the group columns, estimate, low, high, stderr, noisy_count, records
--
-- Estimates how many records truly have all of these values, one of each sensitive attribute: the sum of the products of
-- priv.weight, which is unbiased. w attributes can be in 2^w states. If the estimate of one of them is negative, the
-- frequencies of largest likelihood replace it (the iterative Bayesian method, to convergence). The interval is that of
-- priv.reconstructed_interval. Give values as text; NULL is the missing value. method := 'paper' is the paper's (equations
-- 13 and 14), for comparison only: it stops when no state moves by more than 1% of itself, or by the tolerance, uses a share
-- of decoys that is too large, and has no interval. If the release file is attached and not in use, name it: database :=
-- 'alias'.
--
--   FROM priv.reconstructed_joint('survey', ['occupation', 'income'], ['7', 'high'], group_columns := 'gender');

CREATE OR REPLACE MACRO priv.reconstructed_joint(
    _release, _attributes, _values, group_columns := NULL, condition := NULL, method := 'bayesian', tolerance := NULL, confidence := 0.95,
    database := NULL
) AS TABLE
    FROM query(CASE
        WHEN NOT coalesce(method IN ('bayesian', 'paper'), false) THEN error('method must be "bayesian" or "paper"' || chr(10) || 'Hint: leave it out: ''paper'' is there to be compared')
        WHEN tolerance IS NOT NULL AND NOT coalesce(method = 'paper' AND TRY_CAST(tolerance AS DOUBLE) BETWEEN 1e-12 AND 0.5, false)
            THEN error('tolerance is where method := "paper" stops, from 1e-12 to 0.5' || chr(10) || 'Hint: leave it out: the other method runs to convergence')
        WHEN @joint_release@ IS NULL THEN error(@unknown_release@)
        WHEN NOT coalesce(len(@joint_attributes@) = len(@joint_values@) AND len(@joint_attributes@) BETWEEN 1 AND 8
                AND len(list_distinct([lower(each) FOR each IN @joint_attributes@])) = len(@joint_attributes@), false)
            THEN error('give 1 to 8 different attributes, and as many values'
                || chr(10) || 'Hint: write [''disease'', ''drug''], [''flu'', ''none'']')
        WHEN list_contains([@joint_known@ IS NULL FOR i IN range(1, len(@joint_attributes@) + 1)], true)
            THEN error('release "' || _release || '" has no sensitive attribute "'
                || [left(list_extract(@joint_attributes@, i), 100) FOR i IN list_filter(range(1, len(@joint_attributes@) + 1), lambda i: @joint_known@ IS NULL)][1]
                || '"; it has ' || @joint_release@ || chr(10) || 'Hint: write it without noisy_')
        WHEN list_contains([@joint_known@ FOR i IN range(1, len(@joint_attributes@) + 1)], false)
            THEN error('records of release "' || _release || '" stand for several source records each, or show no value of their own, which this method does not count'
                || chr(10) || 'Hint: add up products of priv.weight(…)')
        WHEN list_contains([coalesce(@joint_value@, false) FOR i IN range(1, len(@joint_attributes@) + 1)], false)
            THEN error([coalesce('"' || list_extract(@joint_attributes@, i) || '" has no value '''
                    || left(CAST(list_extract(@joint_values@, i) AS VARCHAR), 100) || '''', '"' || list_extract(@joint_attributes@, i)
                        || '" is never missing') FOR i IN list_filter(range(1, len(@joint_attributes@) + 1),
                        lambda i: NOT coalesce(@joint_value@, false))][1] || chr(10) || 'Hint: FROM priv.coefficient lists the values')
        WHEN NOT coalesce(confidence > 0 AND confidence < 1, false)
            THEN error(@mistaken_confidence@)
        WHEN @by_reported@ THEN error(@chosen_by_reported@)
        ELSE @joint_query@ END);

COMMENT ON MACRO TABLE priv.reconstructed_joint IS
    'How many records truly have a value of each of several sensitive attributes: one row, or one per group.';

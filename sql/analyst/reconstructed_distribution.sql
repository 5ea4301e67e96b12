-- FROM priv.reconstructed_distribution(release [, group_columns := 'gender, age'] [, condition := 'age > 30']
--   [, weight := 'scale'] [, method := 'inverse'] [, confidence := 0.95] [, simultaneous := false] [, ranks := false]
--   [, database := 'alias']) -> the group columns, value, estimate, low, high, stderr, noisy_count [, best_rank, worst_rank]
--
-- One row for each value of the sensitive attribute, and group. Group columns and condition are SQL over the public columns
-- of the published table, each by its name. Text that reaches a column without its name, such as *, is refused, and so is
-- text that may hide one, such as quotes other than plain ones. method := 'bayesian' gives the frequencies of largest
-- likelihood among those that are not negative (the iterative Bayesian method, to convergence); they have no interval. With
-- simultaneous := true all intervals of the answer hold at once with this confidence (Bonferroni): then you may pick out any
-- of them. With ranks := true they hold at once, too, and two columns bound the rank of each value: the most frequent value
-- has rank 1. All bounds hold at once, so a value whose worst_rank is 1 is the first. If the release file is attached and not in use, name it: database := 'alias'.
--
--   FROM priv.reconstructed_distribution('patients', group_columns := 'gender', condition := 'age > 30');

CREATE OR REPLACE MACRO priv.reconstructed_distribution(
    _release, group_columns := NULL, condition := NULL, weight := NULL, method := 'inverse',
    confidence := 0.95, simultaneous := false, ranks := false,
    database := NULL
) AS TABLE
    FROM query(CASE
        WHEN NOT coalesce(confidence > 0 AND confidence < 1, false)
            THEN error(@mistaken_confidence@)
        WHEN NOT coalesce(typeof(simultaneous) = 'BOOLEAN' AND simultaneous IS NOT NULL, false)
            THEN error('simultaneous must be true or false' || chr(10) || 'Hint: write simultaneous := true')
        WHEN NOT coalesce(typeof(ranks) = 'BOOLEAN' AND ranks IS NOT NULL, false)
            THEN error('ranks must be true or false' || chr(10) || 'Hint: write ranks := true')
        WHEN NOT coalesce(method IN ('inverse', 'bayesian'), false)
            THEN error('method must be "inverse" or "bayesian"' || chr(10) || 'Hint: leave it out for unbiased estimates')
        WHEN ranks AND method = 'bayesian'
            THEN error('ranks need intervals, and the Bayesian method has none' || chr(10) || 'Hint: leave method out')
        WHEN @known_release@ IS NULL THEN error(@mistaken_release@)
        WHEN @by_reported@ THEN error(@chosen_by_reported@)
        WHEN @weight_right@ THEN @distribution_query@
        ELSE error(@mistaken_weight@) END);

COMMENT ON MACRO TABLE priv.reconstructed_distribution IS
    'One row per value (and group) of a sensitive attribute: estimate, low, high, stderr, noisy_count, and the ranks it may have.';

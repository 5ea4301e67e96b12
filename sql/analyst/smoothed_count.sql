-- FROM priv.smoothed_count(release, value, group_columns := 'ward, age' [, condition := 'age > 30'] [, weight := 'scale']
--   [, confidence := 0.95] [, database := 'alias']) -> the group columns, value, estimate, low, high, stderr, smoothed
--
-- Estimates of one value in many small cells, the groups of public columns, that borrow from the whole release: beside the unbiased
-- estimate of each cell stands one that is drawn towards "as frequent here as everywhere", the more the noisier the cell is,
-- and the less the more cells really differ (empirical Bayes). Counts of a few records are closer to the truth by it; a count that
-- is known to ten per cent stays what it is. low and high are the interval of the unbiased estimate: it covers whatever the true
-- counts are, which no much shorter one does. Add up the unbiased estimates, never the smoothed ones: their errors all point the
-- same way.
--
--   FROM priv.smoothed_count('patients', 'flu', group_columns := 'gender, age');

CREATE OR REPLACE MACRO priv.smoothed_count(
    _release, _value, group_columns := NULL, condition := NULL, weight := NULL, confidence := 0.95, database := NULL
) AS TABLE
    FROM query(CASE
        WHEN NOT coalesce(confidence > 0 AND confidence < 1, false)
            THEN error(@mistaken_confidence@)
        WHEN group_columns IS NULL
            THEN error('group_columns is missing: smoothed counts are those of cells' || chr(10)
                || 'Hint: name the public columns that make them, as in group_columns := ''ward, age''')
        WHEN @known_release@ IS NULL THEN error(@mistaken_release@)
        WHEN NOT coalesce(@value_fits@, false) THEN error(@mistaken_value@)
        WHEN @by_reported@ THEN error(@chosen_by_reported@)
        WHEN @weight_right@ THEN @smoothed_query@
        ELSE error(@mistaken_weight@) END);

COMMENT ON MACRO TABLE priv.smoothed_count IS
    'One row per group: the unbiased estimate of a value with its interval, and beside it one that is smoothed by empirical Bayes, for small counts.';

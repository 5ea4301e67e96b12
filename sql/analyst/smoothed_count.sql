-- FROM priv.smoothed_count(release, value, group_columns := 'ward, age' [, condition := 'age > 30'] [, weight := 'scale']
--   [, confidence := 0.95] [, database := 'alias']) -> the group columns, value, estimate, low, high, stderr, smoothed
--
-- Estimates one value in many small cells, the groups of public columns, with help of the whole release. Beside the unbiased
-- estimate of each cell there is a smoothed one, which is drawn towards "as frequent here as everywhere". The pull is
-- stronger the noisier the cell is, and weaker the more cells really differ (empirical Bayes). Smoothed counts of a few
-- records are closer to the truth; a count that is known to ten per cent hardly changes. low and high are the interval of
-- the unbiased estimate: it covers whatever the true counts are, and no much shorter one does. Add up the unbiased
-- estimates, never the smoothed ones: their errors all point the same way.
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

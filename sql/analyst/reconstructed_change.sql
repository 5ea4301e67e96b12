-- FROM priv.reconstructed_change(release, older [, group_columns := 'gender'] [, condition := 'age > 30'] [, confidence := 0.95]
--   [, database := 'alias'])
--   -> the group columns, value, before, after, estimate, low, high, stderr
--
-- How many more records have each value than in the version before, which is attached under the name `older`. With group
-- columns or a condition, as in priv.reconstructed_distribution, it answers for parts of the table. Records that did not
-- change show what they showed, so their noise is the same in both counts, and cancels in the difference. Only the noise of
-- the records that came, left or changed remains, and the catalog says how many these are at most. `before` and `after` are
-- the two estimates, each with an error of its own. It is for mechanisms that draw each record by itself: uniform
-- perturbation, fine grain, matrices, codes of blocks.
--
--   FROM priv.reconstructed_change('visits_public', 'older', group_columns := 'gender');

CREATE OR REPLACE MACRO priv.reconstructed_change(
    _release, older, group_columns := NULL, condition := NULL, confidence := 0.95, database := NULL
) AS TABLE
    FROM query(CASE
        WHEN NOT coalesce(confidence > 0 AND confidence < 1, false)
            THEN error(@mistaken_confidence@)
        WHEN older IS NULL
            THEN error('older is missing: it is the name under which the version before is attached' || chr(10)
                || 'Hint: ATTACH ''older.duckdb'' AS older (READ_ONLY), and write ''older''')
        WHEN @known_release@ IS NULL THEN error(@mistaken_release@)
        WHEN @by_reported@ THEN error(@chosen_by_reported@)
        ELSE @change_query@ END);

COMMENT ON MACRO TABLE priv.reconstructed_change IS
    'One row per value (and group) of a sensitive attribute: how many more records have it than in the version before, without the noise that both share.';

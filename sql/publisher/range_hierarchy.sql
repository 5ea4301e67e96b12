-- FROM priv.range_hierarchy(attribute, width1 [, width2, … width5] [, low := 0] [, high := 119])
--   -> attribute, value, level, generalized
--
-- A hierarchy of the whole numbers from low to high: level 1 has ranges of width1 numbers, level 2 of width2, and so
-- on; above the last one everything is *. Each width must divide the next, so that levels only coarsen. low
-- and high belong to the rule, not to the data: choose what could occur, not what does.
--
--   CREATE TABLE hierarchies AS FROM priv.range_hierarchy('age', 5, 10, 20);

CREATE OR REPLACE MACRO priv.range_hierarchy(
    attribute, width1, width2 := NULL, width3 := NULL, width4 := NULL, width5 := NULL, low := 0, high := 119
) AS TABLE
WITH given AS (
    SELECT [coalesce(TRY_CAST(w AS BIGINT), 0) FOR w IN [width1::VARCHAR, width2::VARCHAR, width3::VARCHAR, width4::VARCHAR, width5::VARCHAR]
        IF w IS NOT NULL] AS widths, TRY_CAST(low AS BIGINT) AS first_leaf, TRY_CAST(high AS BIGINT) AS last_leaf
), rule AS (
    SELECT CASE
        WHEN len(widths) = 0 OR list_min(widths) < 2 OR len([i FOR i IN range(2, len(widths) + 1)
                IF widths[i] % widths[i - 1] <> 0 OR widths[i] = widths[i - 1]]) > 0
            THEN error('the widths of ranges must be whole numbers from 2 on, of which each divides the next, got '
                || widths::VARCHAR || chr(10) || 'Hint: write priv.range_hierarchy(''age'', 5, 10, 20)')
        WHEN NOT coalesce(first_leaf < last_leaf AND last_leaf::HUGEINT - first_leaf < 10000000, false)
            THEN error('low and high must be whole numbers with low < high, at most ten million apart, got '
                || left(coalesce(low::VARCHAR, 'NULL'), 100) || ' and ' || left(coalesce(high::VARCHAR, 'NULL'), 100)
                || chr(10) || 'Hint: write low := 0, high := 119')
        ELSE widths END AS widths, first_leaf, last_leaf
    FROM given
), leaf AS (
    SELECT widths, unnest(range(first_leaf, last_leaf + 1)) AS leaf FROM rule
), placed AS (
    SELECT widths, leaf, unnest(range(0, len(widths) + 2)) AS level FROM leaf
), ranged AS (
    SELECT leaf, level, widths[level] AS width, floor(leaf / widths[level])::BIGINT * widths[level] AS first,
        level > len(widths) AS top
    FROM placed
)
SELECT attribute::VARCHAR AS attribute, leaf::VARCHAR AS value, level::INTEGER AS level,
    CASE WHEN level = 0 THEN leaf::VARCHAR WHEN top THEN '*' ELSE first || '-' || (first + width - 1) END AS generalized
FROM ranged;

COMMENT ON MACRO TABLE priv.range_hierarchy IS
    'A generalization hierarchy of whole numbers: ranges of the given widths, and * on top.';

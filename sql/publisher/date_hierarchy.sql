-- FROM priv.date_hierarchy(attribute, low, high [, parts := ['month', 'year', 'decade']])
--   -> attribute, value, level, generalized
--
-- A hierarchy of the days from low to high: one level for each part, among month (2026-11), quarter (2026-Q4),
-- year (2026) and decade (2020s), from fine to coarse; above the last one everything is *. low and high belong to the
-- rule, not to the data: choose what could occur, not what does.
--
--   CREATE TABLE hierarchies AS FROM priv.date_hierarchy('admitted', DATE '2000-01-01', DATE '2029-12-31');

CREATE OR REPLACE MACRO priv.date_hierarchy(attribute, low, high, parts := ['month', 'year', 'decade']) AS TABLE
WITH rule AS (
    SELECT CASE
        WHEN coalesce(len(list_distinct(asked)), 0) <> coalesce(len(asked), -1)
            OR NOT list_has_all(['month', 'quarter', 'year', 'decade'], asked)
            THEN error('parts must name some of month, quarter, year and decade, each once, got '
                || left(coalesce(parts::VARCHAR, 'NULL'), 100) || chr(10) || 'Hint: write parts := [''month'', ''year'']')
        WHEN NOT coalesce(TRY_CAST(low AS DATE) < TRY_CAST(high AS DATE)
                AND TRY_CAST(high AS DATE) - TRY_CAST(low AS DATE) < 10000000, false)
            THEN error('low and high must be dates with low < high, got ' || left(coalesce(low::VARCHAR, 'NULL'), 100) || ' and '
                || left(coalesce(high::VARCHAR, 'NULL'), 100) || chr(10) || 'Hint: write DATE ''2000-01-01'', DATE ''2029-12-31''')
        ELSE asked END AS chosen
    FROM (SELECT TRY_CAST(parts AS VARCHAR[]) AS asked)
), leaf AS (
    SELECT chosen, unnest(range(TRY_CAST(low AS DATE), TRY_CAST(high AS DATE) + 1, INTERVAL 1 DAY))::DATE AS leaf FROM rule
), placed AS (
    SELECT chosen, leaf, unnest(range(0, len(chosen) + 2)) AS level FROM leaf
)
SELECT attribute::VARCHAR AS attribute, leaf::VARCHAR AS value, level::INTEGER AS level,
    CASE WHEN level = 0 THEN leaf::VARCHAR
        WHEN level > len(chosen) THEN '*'
        WHEN chosen[level] = 'month' THEN strftime(leaf, '%Y-%m')
        WHEN chosen[level] = 'quarter' THEN year(leaf) || '-Q' || quarter(leaf)
        WHEN chosen[level] = 'year' THEN year(leaf)::VARCHAR
        ELSE (year(leaf) // 10 * 10) || 's' END AS generalized
FROM placed;

COMMENT ON MACRO TABLE priv.date_hierarchy IS
    'A generalization hierarchy of days: month, quarter, year, decade, and * on top.';

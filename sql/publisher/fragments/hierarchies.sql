-- A publisher's table of hierarchies: its checked copy, the violations that are refused, and the numbers of its values.

-- name: copy
CREATE TEMP TABLE _priv_hierarchy AS
SELECT lower(attribute::VARCHAR) AS attribute, value::VARCHAR AS value,
    CASE WHEN TRY_CAST(level AS DOUBLE) = TRY_CAST(level AS INTEGER) THEN TRY_CAST(level AS INTEGER) END AS level,
    generalized::VARCHAR AS generalized
FROM @given@

-- name: no_level
SELECT attribute, value FROM _priv_hierarchy WHERE level IS NULL OR level < 0 LIMIT 1

-- name: twice
SELECT attribute, value, level FROM _priv_hierarchy GROUP BY ALL HAVING count(*) > 1 LIMIT 1

-- name: lacks_level
SELECT attribute, value, [l FOR l IN range(0, top + 1) IF NOT list_contains(levels, l)][1]
FROM (
    SELECT attribute, value, list(level) AS levels, max(max(level)) OVER (PARTITION BY attribute) AS top
    FROM _priv_hierarchy GROUP BY attribute, value
)
WHERE len(levels) <= top LIMIT 1

-- name: not_itself
SELECT attribute, value, generalized FROM _priv_hierarchy
WHERE level = 0 AND generalized IS DISTINCT FROM value LIMIT 1

-- name: made_missing
SELECT attribute, value, level FROM _priv_hierarchy WHERE generalized IS NULL AND value IS NOT NULL LIMIT 1

-- name: separates
SELECT fine.attribute, coarse.level, fine.level, fine.generalized
FROM _priv_hierarchy AS fine JOIN _priv_hierarchy AS coarse ON coarse.attribute = fine.attribute
    AND coarse.value IS NOT DISTINCT FROM fine.value AND coarse.level = fine.level + 1
GROUP BY ALL HAVING count(DISTINCT {text: coarse.generalized}) > 1 LIMIT 1

-- name: levels
-- Leaves in the order of the column's type, and generalized values in the order of their leaves.
CREATE TEMP TABLE @table@ AS
WITH own AS (
    SELECT value, level, generalized FROM _priv_hierarchy WHERE attribute = @attribute@
), leaf AS (
    SELECT value, row_number() OVER (ORDER BY TRY_CAST(value AS @type@) NULLS LAST, value NULLS LAST) - 1 AS leaf
    FROM own WHERE level = 0
), first AS (
    SELECT own.*, leaf, min(leaf) OVER (PARTITION BY level, generalized) AS first
    FROM own JOIN leaf ON leaf.value IS NOT DISTINCT FROM own.value
)
SELECT level, leaf, value, generalized, dense_rank() OVER (PARTITION BY level ORDER BY first) - 1 AS code FROM first

-- name: missing_leaves
SELECT count(DISTINCT row(_priv_value0)) FROM @found@ AS found
WHERE NOT EXISTS (FROM @table@ AS leaf WHERE leaf.value IS NOT DISTINCT FROM _priv_value0)

-- name: joined
JOIN @table@ AS l@n@ ON l@n@.level = @level@ AND l@n@.value IS NOT DISTINCT FROM @value@

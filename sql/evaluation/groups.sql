-- Micro groups and groups of equal generalized records: duckdb_priv/evaluation/counted_groups.py.

-- name: large_groups
WITH large AS (
    SELECT @columns@count(*) AS size FROM @table@ GROUP BY ALL HAVING size > @above@
), cell AS (
    SELECT g.*, s.@key@ AS key, count(*) AS held FROM @table@ AS s JOIN large AS g ON @same@ GROUP BY ALL
)
SELECT * EXCLUDE (key), key::VARCHAR AS value FROM cell

-- name: groups_of_queries
-- Groups without the value have no rows, so their number is the difference to all groups.
WITH cell AS (
    SELECT @cells@value, size, held, count(*) AS number FROM _priv_groups GROUP BY ALL
), total AS (
    SELECT @named@size, (sum(held * number) / size)::BIGINT AS number FROM cell GROUP BY @named@size
), with_value AS (
    SELECT query, size, held, cell.number FROM _priv_asked AS asked JOIN cell
    ON asked.value IS NOT DISTINCT FROM cell.value AND @same_cell@
), without AS (
    SELECT query, size, 0 AS held, total.number - coalesce(known.number, 0) AS number
    FROM _priv_asked AS asked JOIN total ON @same_total@
    LEFT JOIN (SELECT query, size, sum(number) AS number FROM with_value GROUP BY ALL) AS known USING (query, size)
)
SELECT n.number AS query, size, held, g.number::BIGINT AS number
FROM (FROM with_value UNION ALL FROM without) AS g JOIN _priv_numbers AS n USING (query)
WHERE g.number > 0

-- name: values_of_groups
WITH cell AS (
    SELECT @keys@s.@value@ AS _priv_value, count(*) AS held FROM @table@ AS s GROUP BY ALL
), large AS (
    SELECT @names@sum(held)::BIGINT AS size, max(held) AS most FROM cell GROUP BY ALL HAVING size > @above@
), numbered AS (
    SELECT *, row_number() OVER () - 1 AS number FROM large
)
SELECT number, coalesce(list_position($1::VARCHAR[], _priv_value::VARCHAR), len($1)) - 1 AS value, held, size, most
FROM cell JOIN numbered AS g ON true@same@

-- name: generalized
SELECT @codes@, sum(records)::BIGINT AS size
FROM (SELECT @values@, count(*) AS records FROM @table@ GROUP BY ALL) @joins@ GROUP BY ALL

-- name: generalized_of_queries
WITH sized AS (
    SELECT @codes@, size, count(*) AS number FROM _priv_generalized GROUP BY ALL
)
SELECT n.number AS query, size, sum(sized.number)::BIGINT AS number
FROM _priv_asked AS asked JOIN _priv_numbers AS n USING (query) @joins@ JOIN sized ON @same@
GROUP BY ALL

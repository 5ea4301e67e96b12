-- What audits ask of a published table and of its source.

-- name: smallest_group
SELECT min(size) FROM (SELECT count(*) AS size FROM @table@ GROUP BY @columns@)

-- name: unique_rows
SELECT count(*) FILTER (size = 1), count(*) FILTER (size = 1) / sum(size) FROM (SELECT @records@ AS size FROM @table@ GROUP BY @columns@)

-- name: records_of_persons
SELECT max(records), sum(records) FROM (SELECT count(*) AS records FROM @source@ GROUP BY @person@)

-- name: distance
WITH cell AS (
    SELECT @public@ AS public, @value@ AS value, count(*) AS n FROM @source@ GROUP BY ALL
), expected AS (
    SELECT n, sum(n) OVER (PARTITION BY public) * sum(n) OVER (PARTITION BY value) / sum(n) OVER () AS e FROM cell
)
-- The positive differences of all cells are half of the sum of absolute differences.
SELECT sum(greatest(n - e, 0)) / sum(n) FROM expected

-- name: lists
SELECT min(len(listed)), bool_and(lists = 1 AND size = len(listed)
    AND len(listed) = list_unique(listed) + (len(listed) > list_aggregate(listed, 'count'))::INTEGER)
FROM (
    SELECT any_value(@name@) AS listed, count(DISTINCT @name@) AS lists, count(*) AS size FROM @table@ GROUP BY @group@
)

-- name: listed_values
SELECT value, count(*) FROM (
    SELECT unnest(listed)::VARCHAR AS value FROM (SELECT any_value(@name@) AS listed FROM @table@ GROUP BY @group@)
) GROUP BY value

-- name: posterior_of_lists
WITH known AS (
    SELECT @public@ AS public, @value@::VARCHAR AS value, count(*) AS records FROM @source@ GROUP BY ALL
), same AS (
    SELECT @public@ AS public, @name@::VARCHAR[] AS listed, count(*) AS records FROM @table@ GROUP BY ALL
), candidate AS (
    SELECT row_number() OVER () AS number, public, unnest(listed) AS value, records FROM same
), believed AS (
    SELECT number, any_value(candidate.records) AS records,
        max(coalesce(known.records, 0)) / sum(coalesce(known.records, 0)) AS posterior
    FROM candidate LEFT JOIN known ON known.public IS NOT DISTINCT FROM candidate.public
        AND known.value IS NOT DISTINCT FROM candidate.value
    GROUP BY number
)
SELECT sum(records * posterior) / sum(records) FROM believed

-- name: accumulated
SELECT max(epsilon_attribute), count(*), bool_or(fresh) FROM priv.ledger(details := true)
WHERE lower(attribute) = lower($2) AND population IN (SELECT population FROM priv.ledger() WHERE release = $1)

-- name: sizes
SELECT size, count(*) FROM (SELECT @keys@count(*) AS size FROM @table@ AS s GROUP BY ALL) GROUP BY size

-- name: scales
SELECT size, min(least), max(most), sum(size)::BIGINT
FROM (SELECT @keys@count(*) AS size, min(scale) AS least, max(scale) AS most FROM @table@ AS s GROUP BY ALL)
GROUP BY size ORDER BY size

-- name: values_by_size
WITH cell AS (
    SELECT @keys@s.@value@ AS value, count(*) AS records FROM @source@ AS s GROUP BY ALL
), placed AS (
    SELECT value, records, sum(records) OVER (@partition@)::BIGINT AS size FROM cell
)
SELECT size, value::VARCHAR, sum(records)::BIGINT FROM placed GROUP BY ALL

-- name: misplaced
-- The release may have a column named rowid.
SELECT count(*) FROM (
    SELECT _priv_place, row_number() OVER (ORDER BY @order@, _priv_place) AS belongs
    FROM (SELECT *, row_number() OVER () AS _priv_place FROM @table@)
) WHERE _priv_place <> belongs

-- name: represented
SELECT count(*) FILTER (
        b.published IS DISTINCT FROM least(a.records, @size@) OR abs(b.records - a.records) > 1e-6 * a.records
    ), max(b.published)
FROM (SELECT @public@count(*) AS records FROM @source@ AS s GROUP BY ALL) AS a
FULL JOIN (SELECT @public@count(*) AS published, sum(s.scale) AS records FROM @table@ AS s GROUP BY ALL) AS b ON @same@

-- name: largest_group
SELECT max(rows) FROM (SELECT @public@count(*) AS rows FROM @table@ AS s GROUP BY ALL)

-- name: cells
SELECT value::VARCHAR, size::BIGINT, rows, count(*)
FROM (
    SELECT value, rows, sum(rows) OVER (@partition@) AS size
    FROM (SELECT @public@@value@ AS value, count(*) AS rows FROM @source@ AS s GROUP BY ALL)
) GROUP BY ALL

-- name: scaled_counts
SELECT @column@::VARCHAR, sum(scale) FROM @table@ GROUP BY ALL

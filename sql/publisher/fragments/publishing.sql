-- What publishing asks of the records and of the rows that it writes.

-- name: digest_of_records
SELECT count(*) || '/' || bit_xor(record) || '/' || sum(record::HUGEINT) FROM (SELECT hash(@columns@) AS record FROM @source@)

-- name: shared_rows
SELECT coalesce(sum(least(mine.rows, theirs.rows)), 0)::BIGINT
FROM (SELECT hash(@columns@) AS row, count(*) AS rows FROM @table@ GROUP BY ALL) AS mine
JOIN (SELECT hash(@columns@) AS row, count(*) AS rows FROM @before@ GROUP BY ALL) AS theirs USING (row)

-- name: values_of_column
SELECT value::VARCHAR FROM (SELECT DISTINCT @column@ AS value FROM @table@) ORDER BY value NULLS LAST

-- name: rows_as_records
(SELECT @columns@, to_json([@texts@])::VARCHAR || '/' || row_number() OVER (PARTITION BY @row@) AS @id@ FROM @table@)

-- name: page
CREATE VIEW @view@ AS FROM (VALUES (@html@)) AS t(html)

-- name: constants
FROM repeat({@arguments@}, 1)

-- name: charge_noisy_count
INSERT INTO @database@.priv.noisy_count (population, epsilon, calls, asked_at) VALUES (?, ?, ?, ?)

-- name: versions_of_declaration
SELECT version FROM @database@.priv.publication WHERE lower(release) = lower(?)

-- name: declare_export
UPDATE @database@.priv.publication SET export = ?, exported = ? WHERE lower(release) = lower(?)

-- name: declarations
SELECT release, mechanism, schemas, version, digest, exported, arguments, export, frame
FROM priv.publication WHERE @condition@ ORDER BY release

-- name: mark_of_id
SELECT @mark@, @missing@ FROM (SELECT @columns@) AS s

-- name: withdrawn_record
(NOT (@missing@) AND @mark@ IN (SELECT mark FROM @table@))

-- name: forget_release
DELETE FROM priv.@table@ WHERE release = ?

-- name: write_rows
INSERT INTO priv.@table@ VALUES @rows@

-- name: write_table
INSERT INTO priv.@table@ BY NAME FROM _priv_rows

-- name: export_database
EXPORT DATABASE @database@ TO @folder@ (FORMAT parquet)

-- name: commented
SELECT database_name, schema_name, @name@, comment FROM system.main.@objects@()
WHERE list_contains(?, database_name) AND comment IS NOT NULL

-- name: of_release
@query@ WHERE release = ?

-- name: spent
WITH draw AS (
    SELECT population, lower(attribute) AS attribute, coins, max(epsilon) AS epsilon, bool_and(epsilon IS NOT NULL) AS bounded,
        min(number) AS first, max(number) AS last, bool_or(json_extract_string(parameters, 'derived_from') IS NOT NULL) AS derived
    FROM priv.ledger WHERE lower(release) = lower(?) GROUP BY ALL
)
SELECT CASE WHEN bool_and(bounded) THEN sum(epsilon * (1 + (
    SELECT count(*) FROM priv.ledger AS charged
    WHERE charged.adds AND charged.number > draw.first AND charged.number <= draw.last AND (charged.coins = draw.coins
        OR draw.derived AND charged.population = draw.population AND lower(charged.attribute) = draw.attribute)
))) END FROM draw

-- name: kind_of_relation
SELECT 'TABLE' FROM duckdb_tables() WHERE database_name = $1 AND schema_name = $2 AND lower(table_name) = lower($3)
UNION ALL
SELECT 'VIEW' FROM duckdb_views() WHERE database_name = $1 AND schema_name = $2 AND lower(view_name) = lower($3)

-- name: publications
SELECT r.release, entry.source, r.mechanism, title, version, rows_published, created_at::VARCHAR AS published_at,
    (?::TIMESTAMP - created_at)::VARCHAR AS age
FROM priv.release AS r
LEFT JOIN (SELECT release, arg_max(source, number) AS source FROM priv.ledger GROUP BY release) AS entry
    ON entry.release = r.release
ORDER BY r.release

-- name: comments_of_source
SELECT column_name, comment FROM duckdb_columns()
WHERE comment IS NOT NULL AND database_name = ? AND schema_name = ? AND table_name = ?

-- name: rows_in_both
WITH a AS (
    SELECT @key@ AS key, count(*) AS rows FROM @older@ GROUP BY ALL
), b AS (
    SELECT @key@ AS key, count(*) AS rows FROM @current@ GROUP BY ALL
)
SELECT (SELECT coalesce(sum(least(a.rows, b.rows)), 0) FROM a JOIN b USING (key))::BIGINT,
    (SELECT sum(rows) FROM a)::BIGINT, (SELECT sum(rows) FROM b)::BIGINT

-- name: followed_records
SELECT count(*), count(*) FILTER (a.shown IS DISTINCT FROM b.shown)
FROM (SELECT @key@ AS key, any_value(@value@) AS shown FROM @older@ GROUP BY ALL HAVING count(*) = 1) AS a
JOIN (SELECT @key@ AS key, any_value(@value@) AS shown FROM @current@ GROUP BY ALL HAVING count(*) = 1) AS b USING (key)

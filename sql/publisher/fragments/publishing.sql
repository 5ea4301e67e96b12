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

-- name: words_of_release
SELECT mechanism, parameters, rows_published, created_at, library_version, version, @words@ FROM priv.release WHERE release = ?

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
SELECT * FROM (@objects@ WHERE database_name = ?) WHERE comment IS NOT NULL

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

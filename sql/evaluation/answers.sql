-- The answers to a workload: duckdb_priv/evaluation/answers.py. _priv_asked has the queries that are about the same columns.

-- name: given
SELECT query::BIGINT AS query, conditions::MAP(VARCHAR, VARCHAR) AS conditions, attribute::VARCHAR AS attribute,
    value::VARCHAR AS value
FROM @table@

-- name: unnumbered
SELECT count(*) - count(DISTINCT query) FROM temp.main._priv_queries

-- name: asked_together
SELECT DISTINCT lower(attribute) AS attribute, list_sort([lower(name) FOR name IN map_keys(conditions)]) AS names
FROM temp.main._priv_queries ORDER BY ALL

-- name: asked
SELECT *@typed@ FROM (
    SELECT query, value@texts@ FROM (
        SELECT *, map_from_entries([{'k': lower(e.key), 'v': e.value} FOR e IN map_entries(conditions)]) AS _priv_lower
        FROM temp.main._priv_queries
    ) WHERE lower(attribute) = @attribute@ AND list_sort(map_keys(_priv_lower)) = @names@
)

-- name: untyped
SELECT query, @text@ FROM _priv_asked WHERE @text@ IS NOT NULL AND @value@ IS NULL ORDER BY query LIMIT 1

-- name: unknown_value
SELECT query, value FROM temp.main._priv_queries AS asked WHERE lower(attribute) = lower($1) AND NOT EXISTS (
    FROM priv.coefficient AS c WHERE c.release = $2 AND c.attribute = $1 AND c.value IS NOT DISTINCT FROM asked.value
) ORDER BY query LIMIT 1

-- name: histograms
CREATE OR REPLACE TEMP TABLE _priv_histograms (query BIGINT, asked VARCHAR, value VARCHAR, records BIGINT)

-- name: count_cells
INSERT INTO _priv_histograms
WITH cell AS (
    SELECT @cells@@value@ AS _priv_value, count(*) AS _priv_count
    FROM @table@ AS _priv_source WHERE @in_cells@ GROUP BY ALL
), counted AS (
    SELECT * EXCLUDE (_priv_value), _priv_value::VARCHAR AS value FROM cell
)
SELECT query, asked.value, counted.value, coalesce(_priv_count, 0)
FROM _priv_asked AS asked LEFT JOIN counted ON @same_cell@

-- name: counts
SELECT query, sum(records)::BIGINT AS records,
    coalesce(sum(records) FILTER (value IS NOT DISTINCT FROM asked), 0)::BIGINT AS true_count
FROM _priv_histograms GROUP BY query

-- name: answers
CREATE OR REPLACE TEMP TABLE _priv_answers
    (release VARCHAR, query BIGINT, estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE)

-- name: reconstructed
INSERT INTO _priv_answers
SELECT @release@, query, estimate, stderr, low, high
FROM _priv_asked AS asked JOIN (@distribution@) AS shown
    ON asked.value IS NOT DISTINCT FROM shown.value::VARCHAR AND @same_cell@

-- name: attributes_without_rows
SELECT DISTINCT lower(attribute) AS attribute FROM temp.main._priv_queries
WHERE query NOT IN (SELECT query FROM _priv_answers WHERE release = ?) ORDER BY attribute

-- name: reconstructed_without_rows
INSERT INTO _priv_answers
SELECT @release@, query, estimate, stderr, low, high
FROM temp.main._priv_queries AS asked JOIN (@distribution@) AS shown ON asked.value IS NOT DISTINCT FROM shown.value::VARCHAR
WHERE lower(attribute) = @attribute@ AND query NOT IN (SELECT query FROM _priv_answers WHERE release = @release@)

-- name: numbers
-- The queries of which relative errors are computed, numbered from 0.
SELECT query, row_number() OVER (ORDER BY query) - 1 AS number FROM _priv_counts WHERE true_count > 0

-- name: asked_values
SELECT number, any_value(asked) FROM _priv_histograms JOIN _priv_numbers USING (query) GROUP BY ALL ORDER BY 1

-- name: numbered_histograms
SELECT number, place, h.records FROM _priv_histograms AS h JOIN _priv_numbers USING (query)
JOIN _priv_places AS p ON p.value IS NOT DISTINCT FROM h.value

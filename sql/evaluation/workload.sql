-- The queries of a workload: duckdb_priv/evaluation/workload.py.

-- name: keep_attribute
DELETE FROM temp.main._priv_queries WHERE lower(attribute) <> lower(?)

-- name: numbered
SELECT row_number() OVER (ORDER BY place) AS query, conditions, attribute, value, true_count
FROM _priv_drawn ORDER BY place LIMIT @queries@

-- name: selectivities
SELECT @columns@, true_count, true_count / @rows@ FROM temp.main._priv_queries ORDER BY query

-- name: draw
INSERT INTO _priv_drawn
SELECT @attribute@, @value@::VARCHAR, MAP {@conditions@}, _priv_count,
    -ln((md5_number_lower(to_json([@written@, @of_query@])::VARCHAR)::DOUBLE + 1) / 2e0**64) / @weight@ AS place
FROM (
    SELECT @columns@, count(*) AS _priv_count FROM @table@ GROUP BY ALL HAVING _priv_count BETWEEN @low@ AND @high@
)
ORDER BY place LIMIT @queries@

-- name: answers
FROM _priv_evaluation ORDER BY release, query

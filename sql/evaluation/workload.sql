-- The queries of a workload: duckdb_priv/evaluation/workload.py.

-- name: keep_attribute
DELETE FROM temp.main._priv_queries WHERE lower(attribute) <> lower(?)

-- name: numbered
SELECT row_number() OVER (ORDER BY place) AS query, conditions, attribute, value, true_count
FROM _priv_drawn ORDER BY place LIMIT @queries@

-- name: selectivities
SELECT query, conditions, attribute, value, true_count, true_count / @rows@ AS selectivity
FROM temp.main._priv_queries ORDER BY query

-- name: drawn
CREATE OR REPLACE TEMP TABLE _priv_drawn
    (attribute VARCHAR, value VARCHAR, conditions MAP(VARCHAR, VARCHAR), true_count BIGINT, place DOUBLE)

-- name: draw
-- From all queries over one set of attributes. It samples with weights and without replacement: it takes the smallest
-- -ln(uniform) / weight (Efraimidis and Spirakis 2006), where the uniform number is a hash of the seed and the query.
INSERT INTO _priv_drawn
SELECT @attribute@, @value@::VARCHAR, MAP {@conditions@}, _priv_count,
    -ln((md5_number_lower(to_json([@written@, @of_query@])::VARCHAR)::DOUBLE + 1) / 2e0**64) / @weight@ AS place
FROM (
    SELECT @columns@, count(*) AS _priv_count FROM @table@ GROUP BY ALL HAVING _priv_count BETWEEN @low@ AND @high@
)
ORDER BY place LIMIT @queries@

-- name: answers
FROM _priv_evaluation ORDER BY release, query

-- name: beside
-- The answers of the releases beside the true counts: of the records that entered the release, and of all records.
SELECT answers.release, asked.query, conditions, attribute, value, coalesce(entered.records, counts.records) AS records,
    coalesce(entered.true_count, counts.true_count) AS true_count, estimate, stderr, low, high,
    abs(estimate - coalesce(entered.true_count, counts.true_count)) / nullif(coalesce(entered.true_count, counts.true_count), 0)
        AS relative_error,
    coalesce(entered.true_count, counts.true_count) BETWEEN low AND high AS covered, counts.true_count AS true_count_all
FROM temp.main._priv_queries AS asked
JOIN _priv_counts AS counts ON counts.query = asked.query
JOIN _priv_answers AS answers ON answers.query = asked.query
LEFT JOIN _priv_entered AS entered ON entered.query = asked.query AND entered.release = answers.release

-- name: summary
-- Summarizes the table of an evaluation. A record keeps its value with the probability on the diagonal of the operator.
WITH edge AS (
    SELECT row_number() OVER (ORDER BY low) AS number, low,
        coalesce(lead(low) OVER (ORDER BY low), 1.0001e0) AS high
    FROM (SELECT unnest([0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]::DOUBLE[]) AS low)
), kept AS (
    SELECT c.release, lower(c.attribute) AS attribute, value,
        coalesce(own, retention + (1 - retention) / domain_size, list_extract(operator, position + 1)) AS share
    FROM priv.coefficient AS c JOIN priv.attribute AS a ON a.release = c.release AND a.attribute = c.attribute
), binned AS (
    SELECT e.*, kept.share,
        CASE WHEN true_count <= @small@ THEN 0 ELSE edge.number END AS number,
        CASE WHEN true_count <= @small@ THEN 'at most @small@ records'
            ELSE CASE WHEN edge.number = 1 THEN 'below ' || round(100 * edge.high, 1)
                WHEN edge.high > 1 THEN 'from ' || round(100 * edge.low, 1)
                ELSE round(100 * edge.low, 1) || ' to ' || round(100 * edge.high, 1) END || ' %' END AS bin
    FROM _priv_evaluation AS e
    JOIN edge ON true_count >= edge.low * @rows@ AND true_count < edge.high * @rows@
    LEFT JOIN kept ON kept.release = e.release AND kept.attribute = lower(e.attribute)
        AND kept.value IS NOT DISTINCT FROM e.value
)
SELECT release, CASE WHEN grouping(bin) = 1 THEN 'all' ELSE bin END AS selectivity, count(*) AS queries,
    median(relative_error) AS median_relative_error, avg(relative_error) AS mean_relative_error,
    avg(covered::DOUBLE) AS coverage,
    sum(true_count * share) / nullif(sum(true_count), 0) AS record_utility,
    sqrt(avg((estimate - true_count) ** 2)) / @rows@ AS root_mean_squared_error
FROM binned GROUP BY GROUPING SETS ((release, number, bin), (release))
ORDER BY release, grouping(bin), number

-- name: entered
CREATE OR REPLACE TEMP TABLE _priv_entered (release VARCHAR, query BIGINT, records BIGINT, true_count BIGINT)

-- name: count_entered
INSERT INTO _priv_entered SELECT ?, query, records, true_count FROM _priv_counts

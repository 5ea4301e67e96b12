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
    FROM @evaluation@ AS e
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

-- FROM priv.evaluation_summary(source, release [, workload := 'table' | queries := 5000, seed := 0]
--   [, small_counts := 10] [, hierarchies := 'table'] [, method := 'inverse'] [, confidence := 0.95])
--   -> release, selectivity, queries, median_relative_error, mean_relative_error, coverage, record_utility,
--      root_mean_squared_error
--
-- Summarizes what priv.evaluate returns with the same arguments: small counts, then ranges of the share of the rows that a
-- query truly counts, then all. coverage is the share of intervals that contain the true count. record_utility is the
-- expected share of the counted records that show their own value. root_mean_squared_error is that of the counts, as a share
-- of the rows: smaller is better.
--
--   FROM priv.evaluation_summary('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.evaluation_summary(
    source, release, workload := NULL, queries := 5000, seed := 0, small_counts := 10, hierarchies := NULL,
    method := 'inverse', confidence := 0.95
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, release: release, workload: workload, queries: queries, seed: seed,
        small_counts: small_counts, hierarchies: hierarchies, method: method, confidence: confidence, @caller@
    })::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "selectivity": "VARCHAR", "queries": "BIGINT",
    "median_relative_error": "DOUBLE", "mean_relative_error": "DOUBLE", "coverage": "DOUBLE",
    "record_utility": "DOUBLE", "root_mean_squared_error": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.evaluation_summary IS
    'Errors, coverage and utility of one or several releases, by selectivity and for small counts.';

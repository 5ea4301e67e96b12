-- FROM priv.evaluate(source, release [, workload := 'table' | queries := 5000, seed := 0]
--   [, hierarchies := 'table'] [, method := 'inverse'] [, confidence := 0.95])
--   -> release, query, conditions, attribute, value, records, true_count, estimate, stderr, low, high,
--      relative_error, covered, true_count_all
--
-- Answers a workload from a release, or from each of a list of releases, and from the source: one row per release and query.
-- A workload is the result of priv.workload, or any table with the columns query (a number), conditions (a MAP from public
-- columns to values), attribute and value. Without one, it is drawn. records is how many records meet the conditions. If
-- max_rows left records out of the release, or some wait for a later version, records and true_count count the published
-- records, and true_count_all counts all. relative_error is NULL if the true count is 0. For a generalized release, name its hierarchies: the source is
-- generalized to its levels first. For the publisher: it shows true counts.
--
--   SELECT median(relative_error), avg(covered::INTEGER) FROM priv.evaluate('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.evaluate(
    source, release, workload := NULL, queries := 5000, seed := 0, hierarchies := NULL, method := 'inverse',
    confidence := 0.95
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, release: release, workload: workload, queries: queries, seed: seed, hierarchies: hierarchies,
        method: method, confidence: confidence, @caller@
    })::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "query": "BIGINT", "conditions": "MAP(VARCHAR, VARCHAR)",
    "attribute": "VARCHAR", "value": "VARCHAR", "records": "BIGINT", "true_count": "BIGINT", "estimate": "DOUBLE",
    "stderr": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "relative_error": "DOUBLE", "covered": "BOOLEAN", "true_count_all": "BIGINT"}]'),
    recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.evaluate IS
    'Answer a workload from one or several releases and from the source: true count, estimate, interval, error.';

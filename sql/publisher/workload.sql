-- FROM priv.workload(source, sensitive := … [, queries := 5000] [, max_public_attributes := 3]
--   [, min_selectivity := 0.001 | selectivity := [0.001, 0.01] | small_counts := 10] [, seed := 0]
--   [, record_id := …] [, exclude := […]])
--   -> query, conditions, attribute, value, true_count, selectivity
--
-- Draws queries as the literature does: one to three public attributes, a value for each of them, and one sensitive value.
-- It keeps those whose true count is at least min_selectivity of the rows, or lies in selectivity, or is at most
-- small_counts. No query is drawn twice; if fewer qualify, there are fewer. The same seed draws the same queries. For the
-- publisher: it shows true counts.
--
--   CREATE TABLE questions AS
--   FROM priv.workload('visits', sensitive := 'disease', record_id := 'id', queries := 1000);

CREATE OR REPLACE MACRO priv.workload(
    source, sensitive := NULL, queries := 5000, max_public_attributes := 3, min_selectivity := 0.001,
    selectivity := NULL, small_counts := NULL, seed := 0, record_id := NULL, exclude := NULL
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, sensitive: sensitive, queries: queries, max_public_attributes: max_public_attributes,
        min_selectivity: min_selectivity, selectivity: selectivity, small_counts: small_counts, seed: seed,
        record_id: record_id, exclude: exclude, @caller@
    })::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"query": "BIGINT", "conditions": "MAP(VARCHAR, VARCHAR)", "attribute": "VARCHAR",
    "value": "VARCHAR", "true_count": "BIGINT", "selectivity": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.workload IS
    'Draw COUNT queries over a few public attributes and one sensitive value, with their true counts.';

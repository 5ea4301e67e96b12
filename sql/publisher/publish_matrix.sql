-- FROM priv.publish_matrix(source, release, sensitive := …, matrix := 'table'
--   [, record_id := …] [, exclude := […]] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings
--
-- Publishes a table in which each sensitive value is exchanged with the probabilities of a matrix (PRAM): a table
-- with the columns original, published, probability, one row for every pair of values. For each original the
-- probabilities sum to 1. The values of the matrix, at most 100, are the domain. Several sensitive columns take a
-- struct: matrix := {'disease': 'one', 'drug': 'another'}.
--
--   FROM priv.publish_matrix('visits', 'visits_public', sensitive := 'disease', matrix := 'exchange',
--                            record_id := 'id');

CREATE OR REPLACE MACRO priv.publish_matrix(
    source, release, sensitive := NULL, matrix := NULL, record_id := NULL, exclude := NULL, replace := false
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({
        source: source, release: release, sensitive: sensitive, matrix: matrix, record_id: record_id,
        exclude: exclude, replace: replace, @caller@
    })::VARCHAR AS arguments
), @run@
@receipt@;

COMMENT ON MACRO TABLE priv.publish_matrix IS
    'Publish a table whose sensitive values are exchanged with the probabilities of a matrix.';

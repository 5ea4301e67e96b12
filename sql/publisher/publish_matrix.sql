-- FROM priv.publish_matrix(source, release, sensitive := …, matrix := 'table'
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table in which each sensitive value is exchanged with the probabilities of a matrix (PRAM): a table with the
-- columns original, published, probability, one row for every pair of values. For each original the probabilities sum to 1.
-- The values of the matrix, at most 100, are the domain. Several sensitive columns take a struct: matrix := {'disease':
-- 'one', 'drug': 'another'}.
--
--   FROM priv.publish_matrix('visits', 'visits_public', sensitive := 'disease', matrix := 'exchange',
--                            record_id := 'id');

@publish@;

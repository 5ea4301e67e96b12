-- FROM priv.publish_shuffled(source, release, sensitive := …, epsilon := …, delta := … [, domain := …]
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings
--
-- Publishes a table: each sensitive value is kept, else drawn uniformly from its domain, and how often it is kept depends on
-- how many records have the same public columns. A release says nothing of the order of such records, so they hide each other:
-- who knows all of them but one, and does not hold the secret, learns of that one no more than (epsilon, delta)
-- allows. Large groups are published with little noise; a record that is alone is perturbed as by priv.publish_uniform with
-- the same epsilon. Ask with weight := scale: that column says how far a row was perturbed. Several sensitive
-- columns are protected together. With record_id, publishing the very same records again gives the same rows; if any record has
-- changed, all are drawn anew, and the ledger adds epsilon and delta up.
--
--   FROM priv.publish_shuffled('visits', 'visits_public', sensitive := 'disease', epsilon := 1.0, delta := 1e-6,
--                              record_id := 'id', exclude := 'age');

@publish@;

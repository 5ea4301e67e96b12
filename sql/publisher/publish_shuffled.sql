-- FROM priv.publish_shuffled(source, release, sensitive := …, epsilon := …, delta := … [, domain := …]
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table in which each sensitive value is kept, or otherwise drawn uniformly from its domain. How often it is
-- kept depends on how many records have the same public columns. The order of such records says nothing, so they hide each
-- other: someone who knows all of them but one, and does not have the secret, learns no more about that one than (epsilon,
-- delta) allows. Large groups are published with little noise; a record that is unique is perturbed as by
-- priv.publish_uniform with the same epsilon. Ask with weight := scale: that column says how strongly a row was perturbed.
-- Several sensitive columns are protected together. With record_id, publishing exactly the same records again gives the same
-- rows. If any record has changed, all are redrawn, and the ledger adds up epsilon and delta.
--
--   FROM priv.publish_shuffled('visits', 'visits_public', sensitive := 'disease', epsilon := 1.0, delta := 1e-6,
--                              record_id := 'id', exclude := 'age');

@publish@;

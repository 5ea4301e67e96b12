-- FROM priv.publish_distribution(source, release, sensitive := …
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table whose sensitive values are all redrawn from their distribution in the table, as a baseline to compare
-- with. What a record shows says nothing about it, and nothing about how values depend on public columns. How often each
-- value occurs in the whole table is published exactly. For any other rows a count can only be that share of them. With
-- record_id, publishing the same table again gives the same release.
--
--   FROM priv.publish_distribution('visits', 'visits_redrawn', sensitive := 'disease', record_id := 'id');

@publish@;

-- FROM priv.publish_splu(source, release, sensitive := …, gamma := …
--   [, grouping := 'mixed' | 'largest_first'] [, append := false]
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table whose records are cut into secret groups of gamma records with gamma different values; each record shows
-- a value drawn uniformly from its group. No value may be in more than 1 of gamma records. Up to gamma - 1 records that fill
-- no group are left out. Several sensitive columns are grouped independently. With record_id, publishing the same table
-- again gives the same release. Publishing a changed one is refused, since each record would get a second group of decoys.
-- append := true publishes the new records as a further batch of the release, with groups of their own, at least ten of
-- them, since someone who compares the release before and after sees which records are new. republish := true publishes
-- nevertheless. "grouping" := 'largest_first' is the paper's grouping, and for comparison only; before DuckDB 2.0 its name
-- needs the quotes.
--
--   FROM priv.publish_splu('persons', 'persons_decoys', sensitive := 'occupation', gamma := 3, record_id := 'id',
--                          exclude := 'income');

@publish@;

-- FROM priv.publish_anatomy(source, release, sensitive := …, l := …
--   [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table by Anatomy, as a baseline to compare with. Its records are cut into groups of l or more different
-- values, no value may be in more than 1 of l records, and each record is published with its group and all values of the
-- group. So the true values are published, and only whose they are is hidden: FROM priv.audit(release) says what that
-- reveals. For a sensitive column disease, the release has the columns disease_group and disease, a list. The view
-- <release>_disease is the paper's second table, with a row for each group and value. With record_id, publishing the same
-- table again gives the same release; publishing a changed one is refused, unless republish := true.
--
--   FROM priv.publish_anatomy('visits', 'visits_anatomy', sensitive := 'disease', l := 3, record_id := 'id');

@publish@;

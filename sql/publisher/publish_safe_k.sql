-- FROM priv.publish_safe_k(source, release, k := …, beta := …, epsilon := …, hierarchies := …,
--   levels := {…} | epsilon1 := … [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a generalized sample that is (epsilon, delta)-differentially private. Each record is sampled with probability
-- beta by fresh secret bits, every column is generalized, and groups under k records are left out. hierarchies names a table
-- (attribute, value, level, generalized), as priv.load_hierarchy, priv.range_hierarchy and priv.date_hierarchy return it. It
-- must be made without looking at the data, and a view of the source is refused. levels gives the level of every column, in
-- constants. With epsilon1 the exponential mechanism chooses them on the full table, for a part epsilon1 of epsilon. A
-- column without a hierarchy is refused unless it is excluded. record_id is not published, and only checked. How many
-- records were sampled or left out is not published: rows_suppressed is NULL. Each published row represents scale = 1 / beta
-- source records.
--
--   FROM priv.publish_safe_k('visits', 'visits_public', k := 20, beta := 0.1, epsilon := 1.0,
--                            hierarchies := 'hierarchies', levels := {'age': 2, 'gender': 0}, exclude := ['id', 'disease']);

@publish@;

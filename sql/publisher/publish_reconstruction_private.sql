-- FROM priv.publish_reconstruction_private(source, release, sensitive := …, retention := … | ldp_epsilon := …,
--   epsilon := …, delta := …
--   [, bound := 'simplified' | 'chernoff' | 'exact'] [, max_frequency := 1.0] [, sampling := 'public' | 'paper']
--   [, domain := …] [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table by uniform perturbation, but at most s records of any micro group (records that agree on all public
-- attributes), so that no group is reconstructed much better than s records allow. s follows from public numbers alone:
-- priv.reconstruction_threshold(max_frequency, …), whole records. A larger group is represented by exactly s records that
-- keep its frequencies, each with scale = size / s; ask with weight := scale. bound := 'exact' uses the largest s with which
-- every frequency up to max_frequency really is wrong by more than the factor epsilon, upwards and downwards, with
-- probability of at least delta. The others are the bounds of the paper. sampling := 'paper' is the paper's algorithm, for
-- comparison: its duplicates reveal each group's largest frequency.
--
--   FROM priv.publish_reconstruction_private('persons', 'persons_public', sensitive := 'income', retention := 0.3,
--                                            epsilon := 0.3, delta := 0.05, bound := 'exact', record_id := 'id');

@publish@;

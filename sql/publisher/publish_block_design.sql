-- FROM priv.publish_block_design(source, release, sensitive := …, epsilon := … | rho1 := …, rho2 := …
--   [, domain := …] [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table in which a record reports the number of a block of values instead of a value. Every value is in equally
-- many blocks, and so are any two values. A block with the true value is exp(epsilon) times as probable as one without. With
-- rho1 and rho2 no prior of at most rho1 becomes a posterior above rho2. The promise is that of priv.publish_uniform with
-- the same epsilon, and estimates are more accurate, the more values there are: with rho1 := 0.1 and rho2 := 0.5 by a factor
-- of 1.3 at 50 values, of 6 at 1,400 and of 16 at 10,000, the largest domain. For few values no code is more accurate: they
-- are perturbed uniformly, and the guarantee says so. Without domain, the domain is what occurs in the source, and is
-- thereby published. The view <release>_<attribute>_blocks lists the values of each block. With record_id, publishing the
-- same record again gives the same block, so releases cannot be averaged.
--
--   FROM priv.publish_block_design('visits', 'visits_public', sensitive := 'disease', rho1 := 0.1, rho2 := 0.5,
--                                  record_id := 'id');

@publish@;

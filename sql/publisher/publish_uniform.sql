-- FROM priv.publish_uniform(source, release, sensitive := …, retention := … | epsilon := … | rho1 := …, rho2 := …
--   [, domain := …] [, record_id := …] [, population := …] [, exclude := […]] [, public := […]]
--   [, person := … [, max_rows := …]] [, title := …] [, description := …] [, contact := …] [, licence := …] [, labels := …]
--   [, republish := false] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, notes, ledger
--
-- Publishes a table in which each sensitive value is kept with probability retention, and otherwise drawn uniformly from its
-- domain: uniform perturbation, or k-ary randomized response. Several sensitive columns are perturbed independently. With
-- epsilon the largest retention is used that changes the odds between two true values by at most exp(epsilon); with rho1 and
-- rho2 the largest with which no prior of at most rho1 becomes a posterior above rho2. Without domain, the domain is what
-- occurs in the source, and is thereby published. With record_id, publishing the same record again gives the same value, so
-- releases cannot be averaged. Columns that you do not name are public; if that would reveal too much it is refused, as
-- priv.check_source says. With public := […] exactly the named columns are public, and the others are left out.
--
--   FROM priv.publish_uniform('visits', 'visits_public', sensitive := 'disease', retention := 0.3,
--                             record_id := 'id');

@publish@;

-- FROM priv.publish_fine_grain(source, release, sensitive := …, requirements := 'table' | tolerance := …
--   [, direction := 'both' | 'upward'] [, min_retention := …] [, domain := …] [, record_id := …] [, exclude := […]]
--   [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings, reported
--
-- Publishes a table in which each sensitive value is kept with a retention of its own, as large as its requirements
-- allow, else drawn uniformly from the domain. requirements names a table with the columns value, rho1, rho2: no prior
-- of at most rho1 for the value becomes a posterior above rho2. Several rows for a value mean several priors; NULL for
-- both means that the value needs no protection. tolerance := t asks instead that no value of frequency f has a
-- posterior above t f. direction 'both' also bounds how far a probability may fall, from rho2 to rho1; 'upward' does
-- not. min_retention keeps values apart that would all be noise otherwise. FROM priv.fine_grain_plan(…) shows
-- beforehand what comes out.
--
--   FROM priv.publish_fine_grain('visits', 'visits_public', sensitive := 'disease', tolerance := 20,
--                                min_retention := 0.05, record_id := 'id');

@publish@;

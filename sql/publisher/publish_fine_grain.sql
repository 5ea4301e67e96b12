-- FROM priv.publish_fine_grain(source, release, sensitive := …, requirements := 'table' | tolerance := …
--   [, direction := 'both' | 'upward'] [, min_retention := …] [, domain := …] [, record_id := …] [, exclude := […]]
--   [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings
--
-- Publishes a table in which each sensitive value is kept with a retention of its own, as large as its
-- requirements allow, else drawn uniformly from the domain. requirements names a table with the columns value,
-- rho1, rho2: no belief in the value of at most rho1 rises above rho2. Several rows for a value mean several
-- beliefs; NULL for both means that the value needs no protection. tolerance := t asks instead that no belief
-- rises from the frequency f of a value above t f. direction 'both' also bounds how far a belief may fall, from
-- rho2 to rho1; 'upward' does not. min_retention keeps values apart that would all be noise otherwise.
-- FROM priv.fine_grain_plan(…) shows beforehand what comes out.
--
--   FROM priv.publish_fine_grain('visits', 'visits_public', sensitive := 'disease', tolerance := 20,
--                                min_retention := 0.05, record_id := 'id');

CREATE OR REPLACE MACRO priv.publish_fine_grain(
    source, release, sensitive := NULL, requirements := NULL, tolerance := NULL, direction := 'both',
    min_retention := NULL, domain := NULL, record_id := NULL, exclude := NULL, replace := false
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({
        source: source, release: release, sensitive: sensitive, requirements: requirements, tolerance: tolerance,
        direction: direction, min_retention: min_retention, domain: domain, record_id: record_id,
        exclude: exclude, replace: replace, @caller@
    })::VARCHAR AS arguments
), @run@
@receipt@;

COMMENT ON MACRO TABLE priv.publish_fine_grain IS
    'Publish a table whose sensitive values each have a retention of their own, as large as their requirements allow.';

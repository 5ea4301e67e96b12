-- FROM priv.publish_uniform(source, release, sensitive := …, retention := … | rho1 := …, rho2 := …
--   [, domain := …] [, record_id := …] [, exclude := […]] [, replace := false])
--   -> release, mechanism, rows_source, rows_published, rows_suppressed, seconds, guarantee, warnings
--
-- Publishes a table: each sensitive value is kept with probability retention, else drawn uniformly from
-- its domain. Several sensitive columns are perturbed independently. With rho1 and rho2 the largest retention
-- is taken that keeps every belief of at most rho1 from rising above rho2. Without domain, the domain is what
-- occurs in the source, and is thereby published. With record_id, publishing the same record again
-- gives the same value, so that releases cannot be averaged.
--
--   FROM priv.publish_uniform('visits', 'visits_public', sensitive := 'disease', retention := 0.3,
--                             record_id := 'id');

CREATE OR REPLACE MACRO priv.publish_uniform(
    source, release, sensitive := NULL, retention := NULL, rho1 := NULL, rho2 := NULL, domain := NULL,
    record_id := NULL, exclude := NULL, replace := false
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({
        source: source, release: release, sensitive: sensitive, retention: retention, rho1: rho1, rho2: rho2,
        domain: domain, record_id: record_id, exclude: exclude, replace: replace, @caller@
    })::VARCHAR AS arguments
), @run@
@receipt@;

COMMENT ON MACRO TABLE priv.publish_uniform IS
    'Publish a table whose sensitive values are kept with probability retention, else drawn from their domain.';

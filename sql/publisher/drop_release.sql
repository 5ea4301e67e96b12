-- FROM priv.drop_release(release) -> release
--
-- Drops a published table and its catalog rows. Copies that you handed out still exist, and the publication stays in the
-- ledger.
--
--   FROM priv.drop_release('visits_public');

CREATE OR REPLACE MACRO priv.drop_release(release) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({release: release, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR"}]'), recursive := true) FROM answered;

COMMENT ON MACRO TABLE priv.drop_release IS
    'Drop a published table and its catalog rows; the ledger remembers it.';

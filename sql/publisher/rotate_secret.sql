-- FROM priv.rotate_secret() -> fingerprint, releases, statement, seconds
--
-- Replaces the secret of the database by a new one, for instance if someone may have read the file, or someone with access
-- has left. releases is how many were published with a former secret, statement what the change costs. It protects what is
-- published from now on, and nothing that was published before.
--
--   FROM priv.rotate_secret();

CREATE OR REPLACE MACRO priv.rotate_secret() AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({@caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"fingerprint": "VARCHAR", "releases": "BIGINT", "statement": "VARCHAR",
    "seconds": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.rotate_secret IS
    'Replace the secret of the database by a new one, and say what that costs.';

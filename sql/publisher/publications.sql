-- FROM priv.publications()
--   -> release, source, mechanism, title, version, rows_published, published_at, age, new_records, gone_records,
--      changed_records, state, advised, advice, path, format, exported
--
-- Lists the releases in the database, and how far their sources have moved since: how many records are new, are gone, or
-- have another sensitive value. These are about right if the table is so large that a sample of its records is known, and
-- NULL if ids do not show it. state is current if nothing changed, due if a refresh is advised, waiting if new records wait
-- for others, and refused if something prevents a refresh. advised is true if it is due, and advice says why. path and
-- format are of the last export, exported is its version. It reads every source, and changes nothing.
--
--   SELECT release, version, age, new_records, gone_records, changed_records, advised, advice FROM priv.publications();

CREATE OR REPLACE MACRO priv.publications() AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({@caller@})::VARCHAR AS arguments
), @ask@
SELECT release, source, mechanism, title, version, rows_published, published_at, age::INTERVAL AS age, new_records,
    gone_records, changed_records, state, advised, advice, path, format, exported
FROM (
    SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "source": "VARCHAR", "mechanism": "VARCHAR",
        "title": "VARCHAR", "version": "INTEGER", "rows_published": "BIGINT", "published_at": "TIMESTAMP",
        "age": "VARCHAR", "new_records": "BIGINT", "gone_records": "BIGINT", "changed_records": "BIGINT",
        "state": "VARCHAR", "advised": "BOOLEAN", "advice": "VARCHAR", "path": "VARCHAR", "format": "VARCHAR", "exported": "INTEGER"}]'),
        recursive := true)
    FROM answered
) ORDER BY release ASC;

COMMENT ON MACRO TABLE priv.publications IS
    'List the releases, how far their sources have moved since, and whether a refresh is advised.';

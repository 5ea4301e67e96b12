-- FROM priv.refresh(release)
--   -> release, version, rows_published, new_records, gone_records, changed_records, adds, epsilon, statement, warnings,
--      path, exported, seconds
--
-- Publishes the next version of a release from its source as it is now, with the arguments of its first publication, in one
-- transaction; then exports it to the place of the last export. Records that did not change show what they showed, new ones
-- are added, those that are gone disappear, and those with another sensitive value are redrawn. adds says whether this
-- version adds to what was spent, epsilon what the release has spent by now for the record that was drawn most often (NULL
-- if there is none), statement what comparing the two versions discloses. If nothing changed, nothing is published. It is
-- refused if every record would be redrawn. If the file cannot be written the version is in the database nevertheless,
-- exported is false and a warning says why: the next refresh writes it.
--
--   FROM priv.refresh('visits_public');

CREATE OR REPLACE MACRO priv.refresh(release) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({release: release, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "version": "INTEGER", "rows_published": "BIGINT",
    "new_records": "BIGINT", "gone_records": "BIGINT", "changed_records": "BIGINT", "adds": "BOOLEAN",
    "epsilon": "DOUBLE", "statement": "VARCHAR", "warnings": ["VARCHAR"], "path": "VARCHAR", "exported": "BOOLEAN",
    "seconds": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.refresh IS
    'Publish the next version of a release from its source as it is now, and export it where the last one was.';

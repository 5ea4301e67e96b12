-- FROM priv.withdraw(source, id [, kind := 'record' | 'person'])
--   -> release, version, epsilon, statement, seconds
--
-- Withdraws a record, or all records of a person: none of them enters another version of any release of the table, nor of
-- a view of it. Without kind, id is a person's where releases of the table name persons, else a record's; where several
-- columns make the id, it is a list of their values. There is a row for each release that stands: the version that still has the
-- record, what that may have told about it, and what is to be done. A release that names other columns as ids leaves it out as
-- well, if its source shows the column that the id was found in; where it does not, no further version is published, and the
-- row says so. What was handed out cannot be taken back, and stays in
-- the ledger.
--
--   FROM priv.withdraw('visits', 7);

CREATE OR REPLACE MACRO priv.withdraw(source, id, kind := NULL) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id,
        to_json({source: source, of: id, kind: kind, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "version": "INTEGER", "epsilon": "DOUBLE", "statement": "VARCHAR",
    "seconds": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.withdraw IS
    'Withdraw a record or a person from all further versions of the releases of a source.';

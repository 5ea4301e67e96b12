-- FROM priv.withdraw(id [, population := 'main'] [, kind := 'record' | 'person'])
--   -> release, version, epsilon, statement, seconds
--
-- Withdraws a record, or all records of a person: nothing that is published later of the population contains them, whatever
-- the table is called. Without kind, id is a person's if publications of the population name people, else a record's. If
-- several columns make the id, it is a list of their values. There is a row for each release of the population: the version
-- that still has the record, what it may have revealed about it, and what to do. A table that does not show the column of
-- the id is no longer published, since nobody could say which record it is. What was handed out cannot be taken back, and
-- stays in the ledger.
--
--   FROM priv.withdraw(7);

CREATE OR REPLACE MACRO priv.withdraw(id, population := 'main', kind := NULL) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id,
        to_json({id: id, population: population, kind: kind, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "version": "INTEGER", "epsilon": "DOUBLE", "statement": "VARCHAR",
    "seconds": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.withdraw IS
    'Withdraw a record or a person from all that is published further of a population.';

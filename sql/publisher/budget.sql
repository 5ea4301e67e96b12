-- FROM priv.budget(source [, epsilon := …] [, delta := …])
--   -> source, epsilon, delta, epsilon_spent, delta_spent, epsilon_left, rule, statement, seconds
--
-- Says what was spent of the persons of a table or view, and with epsilon states what may be spent at most, together with
-- delta (0 if it is not given): publishing beyond that is refused, whatever is published from the table, a view or a copy of it.
-- Where publications named the persons it is spent by person, else by record. What was spent is the least that holds of
-- basic composition (all of the ledger added up), advanced composition (for many small epsilons, with what is left of
-- delta), and parallel composition (the record that was drawn most often, where all records are known by their ids);
-- rule says which. It is infinite where something without an epsilon was published. Counts of priv.laplace_count are added to
-- what is spent, and not refused.
--
--   FROM priv.budget('visits', epsilon := 4.0);

CREATE OR REPLACE MACRO priv.budget(source, epsilon := NULL, delta := NULL) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({source: source, epsilon: epsilon, delta: delta, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"source": "VARCHAR", "epsilon": "DOUBLE", "delta": "DOUBLE", "epsilon_spent": "DOUBLE",
    "delta_spent": "DOUBLE", "epsilon_left": "DOUBLE", "rule": "VARCHAR", "statement": "VARCHAR", "seconds": "DOUBLE"}]'),
    recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.budget IS
    'Say what was spent of the persons of a source, or state what may be spent at most.';

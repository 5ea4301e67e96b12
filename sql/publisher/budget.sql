-- FROM priv.budget([population := 'main'] [, epsilon := …] [, delta := …])
--   -> population, epsilon, delta, epsilon_spent, delta_spent, epsilon_left, rule, statement, seconds
--
-- Returns what was spent of a population. With epsilon, it sets the most that may be spent, together with delta (0 if you
-- give none): a publication beyond that is refused, from any table. Name a population of which something was published, or
-- 'main'. What was spent is the total of priv.ledger(): of one person if publications named people, else of one record. If
-- some delta is left and advanced composition is smaller, it is used; rule says which. The total is infinite if something
-- without an epsilon was published. Counts of priv.laplace_count are added to what is spent, and not refused.
--
--   FROM priv.budget('main', epsilon := 4.0);

CREATE OR REPLACE MACRO priv.budget(population := 'main', epsilon := NULL, delta := NULL) AS TABLE
WITH call AS MATERIALIZED (
    SELECT uuid()::VARCHAR AS id, to_json({population: population, epsilon: epsilon, delta: delta, @caller@})::VARCHAR AS arguments
), @run@
SELECT unnest(from_json(answer, '[{"population": "VARCHAR", "epsilon": "DOUBLE", "delta": "DOUBLE", "epsilon_spent": "DOUBLE",
    "delta_spent": "DOUBLE", "epsilon_left": "DOUBLE", "rule": "VARCHAR", "statement": "VARCHAR", "seconds": "DOUBLE"}]'),
    recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.budget IS
    'Say what was spent of a population, or state what may be spent at most.';

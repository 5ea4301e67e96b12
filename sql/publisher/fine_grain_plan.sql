-- FROM priv.fine_grain_plan(source, sensitive := …, requirements := 'table' | tolerance := …
--   [, direction := 'both' | 'upward'] [, min_retention := …] [, domain := …]
--   [, frequencies := 'table' | frequency_epsilon := …])
--   -> attribute, value, records, gamma, retention, diagonal, uniform, gain, stderr, condition_number
--
-- What priv.publish_fine_grain would do with the same arguments, one row for each value, without publishing. gamma is the
-- factor by which the odds of the value may change (infinite: it needs no protection). retention is the probability that a
-- record keeps the value, diagonal that it shows it, uniform the same under uniform perturbation, gain the difference.
-- stderr is the expected standard error of its reconstructed count in the whole table, infinite if it cannot be
-- distinguished from others. condition_number is that of the operator: it bounds how much reconstruction can enlarge an
-- error. For the publisher: it shows true counts.
--
--   SELECT value, retention, stderr FROM priv.fine_grain_plan('visits', sensitive := 'disease', tolerance := 20);

CREATE OR REPLACE MACRO priv.fine_grain_plan(
    source, sensitive := NULL, requirements := NULL, tolerance := NULL, direction := 'both', min_retention := NULL,
    domain := NULL, frequencies := NULL, frequency_epsilon := NULL
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, sensitive: sensitive, requirements: requirements, tolerance: tolerance, direction: direction,
        min_retention: min_retention, domain: domain, frequencies: frequencies,
        frequency_epsilon: frequency_epsilon, @caller@
    })::VARCHAR AS arguments
), @ask@, planned AS (
    SELECT unnest(from_json(answer, '[{"attribute": "VARCHAR", "value": "VARCHAR", "records": "BIGINT",
        "gamma": "VARCHAR", "retention": "DOUBLE", "diagonal": "DOUBLE", "uniform": "DOUBLE", "gain": "DOUBLE",
        "stderr": "VARCHAR", "condition_number": "VARCHAR"}]'), recursive := true)
    FROM answered
)
SELECT * REPLACE (gamma::DOUBLE AS gamma, stderr::DOUBLE AS stderr, condition_number::DOUBLE AS condition_number)
FROM planned;

COMMENT ON MACRO TABLE priv.fine_grain_plan IS
    'What publish_fine_grain would do, one row for each value, without publishing.';

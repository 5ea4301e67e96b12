-- The query behind priv.reconstructed_distribution with method := 'bayesian': expectation maximization, over all groups
-- at once, two steps at a time with squared extrapolation (SQUAREM), until no frequency would grow by more than one part
-- in a hundred million. Then the log-likelihood of a record is that close to its maximum, whatever the path. It follows
-- WITH RECURSIVE and the counts (observed.sql).
tallied AS (
    @query.tallied@
), law AS MATERIALIZED (
    @em_lists@
), steps AS (
    SELECT 0 AS step, false AS settled, _priv_group, shown, @em_start@ AS f FROM tallied, law
    UNION ALL
    SELECT step + 1, settled, _priv_group, shown, CASE WHEN settled THEN next ELSE @squarem@ END
    FROM (
        SELECT *, list_max([CASE WHEN e[1] > 0 THEN e[2] / e[1] ELSE 0 END FOR e IN list_zip(f, next)]) <= 1 + 1e-8 AS settled,
            [@em_next@ FOR f IN [next]][1] AS second
        FROM (
            SELECT steps.* EXCLUDE (settled), law.*, @em_next@ AS next FROM steps, law
            WHERE NOT settled AND step < 10000
        )
    )
), reached AS (
    SELECT _priv_group, arg_max(f, step) AS f, bool_or(settled) AS settled FROM steps GROUP BY _priv_group
)
SELECT observed.* EXCLUDE (_priv_group, _priv_total, _priv_sums, _priv_position, _priv_value, _priv_numbers, _priv_observed,
        _priv_cell),
    _priv_value AS value,
    CASE WHEN reached.settled THEN list_extract(reached.f, _priv_position + 1) * _priv_total
        ELSE error('the iterative Bayesian method did not settle in 10000 steps' || chr(10) || 'Hint: ask for fewer, larger groups')
    END AS estimate,
    NULL::DOUBLE AS low, NULL::DOUBLE AS high, NULL::DOUBLE AS stderr, _priv_observed::BIGINT AS noisy_count
FROM observed JOIN reached ON reached._priv_group = observed._priv_group ORDER BY ALL

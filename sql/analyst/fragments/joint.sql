-- The query behind priv.reconstructed_joint: how many records are in each of 2^w states, a state saying for each of w attributes
-- whether a record has the value that is asked for. All groups at once.
--
-- The sums of products of weights, unbiased for every form, are the answer where none is negative. Otherwise the iterative
-- Bayesian method (expectation maximization) begins there, with the patterns that these sums would show on average. The
-- interval is that of the unbiased sum, by the law of products (analyst/ordinary/intervals.sql).
-- If the perturbation of a row depends on its scale, each group uses one representative scale: the power mean of the scales, with
-- the power that the scale has in the variance of a product.
-- Groups are materialized with their numbers: counted a second time, they would come in another order. Between, a group is its
-- number alone, so that its columns may have any name.
WITH RECURSIVE weighed AS (
    SELECT *, {weights} FROM {table}
), grouped AS (
    SELECT {group_columns} count(*) AS _priv_total, [{patterns}]::DOUBLE[] AS _priv_shown,
        [{sums}]::DOUBLE[] AS _priv_sums, coalesce(sum(({product}) * (({product}) - 1)), 0)::DOUBLE AS _priv_noise,
        coalesce(avg(({scale}) ** (2 * {attributes})) ** (0.5 / {attributes}), 0) AS _priv_scale
    FROM weighed AS {name} WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), law AS (
    SELECT _priv_scale, [{laws}] AS laws FROM (SELECT DISTINCT _priv_scale FROM numbered)
), model AS (
    SELECT _priv_scale AS scale, [[list_aggregate([CASE WHEN (s >> i) & 1 = 0
                THEN CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(laws, i + 1).other ELSE list_extract(laws, i + 1).other END
                ELSE CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(laws, i + 1).own ELSE list_extract(laws, i + 1).own END
            END FOR i IN range({attributes})], 'product') FOR s IN range({states})] FOR o IN range({states})] AS likelihood,
        [list_aggregate([CASE WHEN (s >> i) & 1 = 0
                THEN (list_extract(laws, i + 1).other * (1 - 2 * list_extract(laws, i + 1).other) + list_extract(laws, i + 1).other ** 2)
                ELSE (list_extract(laws, i + 1).own * (1 - 2 * list_extract(laws, i + 1).other) + list_extract(laws, i + 1).other ** 2)
            END / (list_extract(laws, i + 1).own - list_extract(laws, i + 1).other) ** 2
            FOR i IN range({attributes})], 'product') FOR s IN range({states})] AS squares,
        list_aggregate([1 / (each.own - each.other) FOR each IN laws], 'product') AS step,
        list_aggregate([(1 - each.other) / (each.own - each.other) FOR each IN laws], 'product') AS heaviest
    FROM (SELECT _priv_scale, [CASE WHEN each.own - each.other > 1e-12 THEN each
            ELSE error('a value that is asked for is in every decoy group, so what is published says nothing of it'
                || chr(10) || 'Hint: ask for other values') END
        FOR each IN laws] AS laws FROM law)
), begun AS MATERIALIZED (
    SELECT _priv_group, _priv_total, _priv_shown, _priv_sums, _priv_noise, _priv_scale, model.* EXCLUDE (scale),
        [greatest(each, 1e-6 * _priv_total) FOR each IN _priv_sums] AS start,
        [greatest(list_dot_product(each, _priv_sums), 0) FOR each IN model.likelihood] AS shown
    FROM numbered JOIN model ON model.scale = _priv_scale
), background AS (
    -- The weights of the rows of the whole release for each value.
    SELECT [{background}] AS of_each FROM weighed
), product AS MATERIALIZED (
    SELECT @law_of_product@ AS _priv_law FROM (SELECT {factors: of_each} AS k FROM background)
), steps AS (
    SELECT 0 AS step, false AS settled, _priv_group, shown, likelihood,
        [each * _priv_total / greatest(list_sum(start), 1e-300) FOR each IN start] AS f
    FROM begun
    UNION ALL
    SELECT step + 1, settled, _priv_group, shown, likelihood,
        CASE WHEN settled THEN next ELSE [@squarem@ FOR second IN [[@joint_step@ FOR f IN [next]][1]]][1] END
    FROM (
        SELECT *, list_max([CASE WHEN e[1] > 0 THEN e[2] / e[1] ELSE 0 END FOR e IN list_zip(f, next)]) <= 1 + 1e-8 AS settled
        FROM (
            SELECT steps.* EXCLUDE (settled), @joint_step@ AS next FROM steps WHERE NOT settled AND step < 10000
        )
    )
), reached AS (
    SELECT _priv_group, arg_max(f, step) AS f, bool_or(settled) AS settled FROM steps GROUP BY _priv_group
), estimated AS (
    SELECT begun.*, list_extract(_priv_sums, {states}) AS _priv_sum, coalesce(_priv_others / nullif(_priv_rest, 0), squares[1]) AS _priv_each,
        CASE WHEN reached.settled THEN CASE WHEN list_min(_priv_sums) >= 0 THEN list_extract(_priv_sums, {states})
                ELSE list_extract(reached.f, {states}) END
            ELSE error('the iterative Bayesian method did not settle' || chr(10) || 'Hint: ask for fewer, larger groups, and for values that are in fewer decoy groups')
        END AS _priv_estimate
    FROM (
        SELECT *, list_sum([greatest(list_extract(_priv_sums, s), 0) FOR s IN range(1, {states})]) AS _priv_rest,
            list_sum([greatest(list_extract(_priv_sums, s), 0) * list_extract(squares, s) FOR s IN range(1, {states})]) AS _priv_others
        FROM begun
    ) AS begun JOIN reached ON reached._priv_group = begun._priv_group
), bounded AS (
    SELECT * EXCLUDE (m), [@ends@ FOR u IN [@test@ FOR i IN [{
            estimate: _priv_sum, variance: _priv_noise,
            zero: greatest(_priv_noise - m.slope * least(greatest(_priv_sum, 0), _priv_total),
                greatest(_priv_total - 1, 0) * m.scatter + m.most_scatter),
            slope: m.slope, half_step: m.half_step, slack: 0e0, upward: m.upward, downward: m.downward,
            certain: 0e0, hidden: 0e0, hidden_spread: 0e0, total: _priv_total::DOUBLE, z: @normal_quantile@
        }]]][1] AS _priv_interval
    FROM (
        -- If the perturbation depends on the scale, the background is that of the group.
        SELECT *, CASE WHEN _priv_scale = 0 THEN _priv_law ELSE {slope: squares[{states}] - 1 - _priv_each, half_step: step / 2,
            spread: 0e0, scatter: _priv_each, most_scatter: _priv_each, upward: heaviest, downward: 0e0, shrinkage: 0e0} END AS m
        FROM estimated CROSS JOIN product
    )
)
SELECT numbered.* EXCLUDE (_priv_group, _priv_total, _priv_shown, _priv_sums, _priv_noise, _priv_scale),
    _priv_estimate AS estimate, least(_priv_interval.low, greatest(_priv_estimate, 0)) AS low,
    greatest(_priv_interval.high, _priv_estimate) AS high, _priv_interval.stderr AS stderr,
    list_extract(numbered._priv_shown, {states})::BIGINT AS noisy_count, numbered._priv_total AS records
FROM bounded JOIN numbered ON numbered._priv_group = bounded._priv_group ORDER BY ALL

-- The query behind priv.reconstructed_joint: the iterative Bayesian method (expectation maximization) over 2^w states,
-- a state saying for each of w attributes whether a record has the value that is asked for. All groups at once.
-- Groups are materialized with their numbers: counted a second time, they would come in another order.
WITH RECURSIVE grouped AS (
    SELECT {group_columns} count(*) AS _priv_total, [{patterns}]::DOUBLE[] AS _priv_shown
    FROM {table} WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), law AS (
    SELECT [{laws}] AS laws
), model AS (
    SELECT [[list_aggregate([CASE WHEN (s >> i) & 1 = 0
                THEN CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(laws, i + 1).other ELSE list_extract(laws, i + 1).other END
                ELSE CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(laws, i + 1).own ELSE list_extract(laws, i + 1).own END
            END FOR i IN range({attributes})], 'product') FOR s IN range({states})] FOR o IN range({states})] AS likelihood,
        [[list_aggregate([CASE WHEN (s >> i) & 1 = 0
                THEN CASE WHEN (o >> i) & 1 = 0 THEN list_extract(laws, i + 1).own ELSE list_extract(laws, i + 1).own - 1 END
                ELSE CASE WHEN (o >> i) & 1 = 0 THEN - list_extract(laws, i + 1).other ELSE 1 - list_extract(laws, i + 1).other END
            END / CASE WHEN list_extract(laws, i + 1).own - list_extract(laws, i + 1).other > 1e-12
                THEN list_extract(laws, i + 1).own - list_extract(laws, i + 1).other
                ELSE error('a value that is asked for is in every decoy group, so what is published says nothing of it') END
            FOR i IN range({attributes})], 'product') FOR o IN range({states})] FOR s IN range({states})] AS inverse
    FROM law
), steps AS (
    SELECT 0 AS step, false AS settled, _priv_group, _priv_shown AS shown,
        [[each * _priv_total / greatest(list_sum(start), 1e-300) FOR each IN start] FOR start IN [{start}]][1] AS f
    FROM numbered, model
    UNION ALL
    SELECT step + 1, settled, _priv_group, shown, {further} FROM (
        SELECT *, {settled} AS settled FROM (
            SELECT steps.* EXCLUDE (settled), likelihood, @joint_step@ AS next FROM steps, model
            WHERE NOT settled AND step < 10000
        )
    )
), reached AS (
    SELECT _priv_group, arg_max(f, step) AS f, bool_or(settled) AS settled FROM steps GROUP BY _priv_group
)
SELECT numbered.* EXCLUDE (_priv_group, _priv_total, _priv_shown),
    CASE WHEN reached.settled{or_not} THEN list_extract(reached.f, {states})
        ELSE error('the iterative Bayesian method did not settle; ask for fewer, larger groups, and for values that are in fewer decoy groups') END AS estimate,
    list_extract(_priv_shown, {states})::BIGINT AS observed, _priv_total AS records
FROM numbered JOIN reached ON reached._priv_group = numbered._priv_group ORDER BY ALL

-- The query behind priv.reconstructed_joint with method := 'paper': equations 13 and 14 to the letter. The states are those of
-- the records asked for and of all others, beginning as they are shown; each step takes for the share of decoys the share
-- that the states give to a value by then, and the last step is that in which none moves by more than its tolerance, a share of itself.
WITH RECURSIVE grouped AS (
    SELECT {group_columns} count(*) AS _priv_total, [{patterns}]::DOUBLE[] AS _priv_shown,
        coalesce(avg(({scale}) ** (2 * {attributes})) ** (0.5 / {attributes}), 0) AS _priv_scale
    FROM {table} WHERE ({condition}
    ) GROUP BY ALL
), numbered AS MATERIALIZED (
    SELECT row_number() OVER () AS _priv_group, * FROM grouped
), everybody AS (
    SELECT [{patterns}]::DOUBLE[] AS everywhere, count(*)::DOUBLE AS everyone FROM {table}
), steps AS (
    SELECT 0 AS step, false AS settled, _priv_group, everyone, [each.own FOR each IN [{laws}]]::DOUBLE[] AS owns,
        _priv_shown || [e[2] - e[1] FOR e IN list_zip(_priv_shown, everywhere)] AS published,
        _priv_shown || [e[2] - e[1] FOR e IN list_zip(_priv_shown, everywhere)] AS f
    FROM numbered, everybody
    UNION ALL
    SELECT step + 1, list_max([abs(e[2] - e[1]) - {tolerance} * e[1] FOR e IN list_zip(f, next)]) <= 0, _priv_group, everyone, owns,
        published, next
    FROM (
        SELECT *, [list_extract(f, s) * list_sum([list_extract(list_extract(likelihood, o), 1 + (s - 1) % {states})
                    * list_extract(ratio, o + (s - 1) // {states} * {states}) FOR o IN range(1, {states} + 1)])
                FOR s IN range(1, 2 * {states} + 1)] AS next
        FROM (
            SELECT *, [list_extract(published, o) / greatest(list_sum([list_extract(list_extract(likelihood, 1 + (o - 1) % {states}), s)
                        * list_extract(f, s + (o - 1) // {states} * {states}) FOR s IN range(1, {states} + 1)]), 1e-300)
                    FOR o IN range(1, 2 * {states} + 1)] AS ratio
            FROM (
                SELECT *, [[list_aggregate([CASE WHEN (s >> i) & 1 = 0
                            THEN CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(shares, i + 1) ELSE list_extract(shares, i + 1) END
                            ELSE CASE WHEN (o >> i) & 1 = 0 THEN 1 - list_extract(owns, i + 1) ELSE list_extract(owns, i + 1) END
                        END FOR i IN range({attributes})], 'product') FOR s IN range({states})] FOR o IN range({states})] AS likelihood
                FROM (
                    SELECT *, [list_sum([list_extract(f, s + 1) FOR s IN range(2 * {states}) IF (s >> i) & 1 = 1]) / everyone
                        FOR i IN range({attributes})] AS shares
                    FROM steps WHERE NOT settled AND step < 10000
                )
            )
        )
    )
), reached AS (
    SELECT _priv_group, arg_max(f, step) AS f FROM steps GROUP BY _priv_group
)
SELECT numbered.* EXCLUDE (_priv_group, _priv_total, _priv_shown, _priv_scale), list_extract(reached.f, {states}) AS estimate,
    NULL::DOUBLE AS low, NULL::DOUBLE AS high, NULL::DOUBLE AS stderr, list_extract(_priv_shown, {states})::BIGINT AS noisy_count,
    _priv_total AS records
FROM numbered JOIN reached ON reached._priv_group = numbered._priv_group ORDER BY ALL

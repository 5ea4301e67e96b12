-- What the next version of a release is planned from: the shown values of grouped records, and the samples of groups.

-- name: keep_records
-- Most time is spent writing, so a text that millions of records share is written once.
INSERT INTO priv.shown_record SELECT _mark, @first@::UBIGINT + @code@::UBIGINT * @size@ + @drawn@ FROM @shown@

-- name: keep_pairs
INSERT INTO priv.shown_pair
SELECT @first@::UBIGINT + code::UBIGINT * @size@ + drawn, $release, $attribute, d.value, p.shown, (
    SELECT coalesce(max(batch) + 1, 0) FROM priv.shown_pair
    WHERE lower(release) = lower($release) AND attribute = $attribute
), records
FROM (SELECT @code@ AS code, @drawn@ AS drawn, count(*) AS records FROM @shown@ GROUP BY ALL)
JOIN (@values@) AS d ON d.position = code
JOIN (SELECT position, published::VARCHAR AS shown FROM @domain@) AS p ON p.position = drawn

-- name: recall
CREATE OR REPLACE TEMP TABLE @table@ AS SELECT own.mark, kept.shown, kept.pair
FROM (@marks@) AS own JOIN @kept@ AS kept USING (mark, value)
WHERE lower(release) = lower(?) AND attribute = ?

-- name: keep_remaining
UPDATE priv.shown_pair SET remaining = (SELECT count(*) FROM (@pairs@) AS p WHERE p.pair = number)
WHERE lower(release) = lower(?) AND attribute = ?

-- name: batches
SELECT batch, position, sum(records)::BIGINT, sum(remaining)::BIGINT
FROM priv.shown_pair
JOIN (SELECT pair, count(*) AS records FROM priv.shown_record GROUP BY pair) AS kept ON pair = number
JOIN (
    SELECT @key@ AS key, position FROM (SELECT unnest($3::VARCHAR[]) AS text, unnest(range($4)) AS position)
) AS known ON @column@ IS NOT DISTINCT FROM key
WHERE lower(release) = lower($1) AND attribute = $2
GROUP BY ALL ORDER BY batch

-- name: unsampled
SELECT (SELECT count(*) FROM @represented@), (
    SELECT count(*) FROM priv.sampled_record WHERE release = ? AND in_version
        AND NOT EXISTS (FROM @marked@ WHERE _priv_grouped = grouped AND _priv_mark = mark)
), (SELECT count(*) FROM @new@)

-- name: leave_sample
UPDATE priv.sampled_record SET in_version = false WHERE release = ? AND in_version
    AND NOT EXISTS (FROM @marked@ WHERE _priv_grouped = grouped AND _priv_mark = mark)

-- name: enter_sample
INSERT INTO priv.sampled_record SELECT ?, _priv_grouped, _priv_mark, scale, true FROM @represented@

-- name: waiting
SELECT coalesce(sum(_priv_size), 0)::BIGINT FROM @large@ WHERE _priv_take = 0

-- name: rows_together
WITH batches AS (
    SELECT grouped, scale, count(*) AS ever, count(*) FILTER (in_version) AS now
    FROM priv.sampled_record WHERE release = $1 AND scale > 1 GROUP BY ALL
), gone AS (
    SELECT grouped, count(*) FILTER (NOT in_version) AS records
    FROM priv.sampled_record WHERE release = $1 GROUP BY grouped
)
SELECT min(remaining / added) FROM (
    SELECT sum(now * scale ** 2) AS remaining,
        sum(scale ** 2) + least(sum(ever * scale ** 2), 4 * max(scale) * any_value(records)) AS added
    FROM batches JOIN gone USING (grouped) GROUP BY grouped
) WHERE remaining > 0

-- name: draws
SELECT coalesce(max(present), 0), coalesce(max(ever), 0) FROM (
    SELECT count(DISTINCT mark) FILTER (here) AS present, count(DISTINCT mark) AS ever
    FROM (
        SELECT grouped, mark, bool_or(in_version) OVER (PARTITION BY grouped, mark) AS here, scale
        FROM priv.sampled_record WHERE release = ?
    ) WHERE scale IS NOT NULL GROUP BY grouped
)

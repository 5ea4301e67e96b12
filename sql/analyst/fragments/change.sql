-- The query behind priv.reconstructed_change: both tables are counted with the numbers of the newer one, which are those of the
-- older one where records that did not change show what they showed. The derivation stands in mechanism/two_looks.md.
WITH here AS MATERIALIZED (
    @here@
), told AS MATERIALIZED (
    SELECT CASE
        WHEN that.created_at IS NULL OR this.previous_at IS DISTINCT FROM that.created_at
            THEN error('what is attached as older is not the version of "' || @release@ || '" right before this one'
                || chr(10) || 'Hint: this is version ' || this.version || ', which follows what was published at '
                || coalesce(CAST(this.previous_at AS VARCHAR), 'no known time') || ' (UTC)')
        WHEN this.rows_moved IS NULL
            THEN error('how many rows of "' || @release@ || '" moved since the version before is not known'
                || chr(10) || 'Hint: count both versions, and add the squares of their errors')
        ELSE this.rows_moved END AS rows_moved
    FROM here JOIN {database}priv.release AS this ON found AND this.release = @release@
    LEFT JOIN {older}priv.release AS that ON that.release = this.release
), reported AS (
    SELECT CAST(@attribute@ AS VARCHAR) AS shown, true AS newer FROM {database}@table@
    UNION ALL
    SELECT CAST(@attribute@ AS VARCHAR) AS shown, false AS newer FROM {older}@table@
), counted AS (
    SELECT shown, count(*) FILTER (newer) AS after, count(*) FILTER (NOT newer) AS before FROM reported GROUP BY ALL
), sizes AS (
    SELECT sum(after) AS after, sum(before) AS before FROM counted
), domain AS (
    SELECT unnest(@values@) AS text, unnest(@values@)::@type@ AS value, unnest(@numbers.own@) AS own,
        unnest(@numbers.other@) AS other
), estimated AS (
    SELECT domain.value, own, other, own - other AS gap, sizes.before AS fewer, sizes.after AS more,
        (coalesce(counted.before, 0) - other * sizes.before) / (own - other) AS before,
        (coalesce(counted.after, 0) - other * sizes.after) / (own - other) AS after,
        sqrt(least(rows_moved, sizes.before + sizes.after) * greatest(own * (1 - own), other * (1 - other))) / (own - other)
            AS stderr
    FROM domain CROSS JOIN sizes CROSS JOIN told LEFT JOIN counted ON counted.shown IS NOT DISTINCT FROM domain.text
)
SELECT value, before, after, after - before AS estimate, stderr,
    greatest(after - before - reach, -fewer)::DOUBLE AS low, least(after - before + reach, more)::DOUBLE AS high
FROM (
    SELECT *, CASE WHEN stderr > 0 THEN [z * stderr + greatest(0.5e0, (z ** 2 - 1) / 6) / gap FOR z IN [@normal_quantile@]][1]
        ELSE 0e0 END AS reach
    FROM estimated
)
ORDER BY ALL

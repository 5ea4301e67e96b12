-- The query behind priv.reconstructed_change: both tables are counted at once, with the numbers of the newer one, which are those
-- of the older one if records that did not change show what they showed. Derivation: mechanism/two_looks.md. No name here occurs in
-- the inner query.
WITH read AS MATERIALIZED (
    @here@
), reported AS MATERIALIZED (
    SELECT CASE
        WHEN NOT coalesce(that.created_at < this.created_at, false)
            THEN error('what is attached as older is no earlier version of "' || @release@ || '"'
                || chr(10) || 'Hint: this is version ' || this.version || ', and the one before was published at '
                || coalesce(CAST(this.previous_at AS VARCHAR), 'no known time') || ' (UTC)')
        WHEN since.rows_moved IS NULL
            THEN error('how many rows of "' || @release@ || '" moved since that version is not known'
                || chr(10) || 'Hint: count both versions, and add the squares of their errors')
        ELSE since.rows_moved END AS _priv_rows_moved
    FROM read JOIN {database}priv.release AS this ON found AND this.release = @release@
    LEFT JOIN {older}priv.release AS that ON that.release = this.release
    LEFT JOIN (
        SELECT step.published_at, CASE WHEN {whole} THEN step.rows_moved ELSE step.rows_placed END AS rows_moved
        FROM (SELECT unnest(earlier) AS step FROM {database}priv.release WHERE release = @release@)
    ) AS since ON since.published_at = that.created_at
), asked AS (
    WITH @observed@
    SELECT * EXCLUDE (_priv_group, _priv_total, _priv_sums, _priv_position, _priv_numbers, _priv_observed, _priv_cell, _priv_window),
        @centre@ AS _priv_estimate
    FROM (SELECT *, @query.window@ AS _priv_window FROM observed WINDOW of_group AS (PARTITION BY _priv_group))
), differing AS MATERIALIZED (
    SELECT *, 1 AS _priv_sign FROM (FROM {database}main.@table@ EXCEPT ALL FROM {older}main.@table@)
    UNION ALL SELECT *, -1 FROM (FROM {older}main.@table@ EXCEPT ALL FROM {database}main.@table@)
), netted AS (
    SELECT * EXCLUDE (_priv_sign), sum(_priv_sign)::DOUBLE AS _priv_net FROM differing WHERE ({condition}
    ) GROUP BY ALL
), squares AS (
    -- The square and the fourth power of the gain or loss of each value among rows of equal public values.
    SELECT {parts} @attribute@ AS _priv_shown, sum(_priv_net ** 2) AS _priv_square, sum(_priv_net ** 4) AS _priv_fourth
    FROM netted GROUP BY ALL
), parts AS (
    -- The rows of each part, and those in one version only. Other rows that moved are hidden behind equal rows.
    SELECT {parts} count(*) FILTER (_priv_kind = 'newer') AS _priv_more, count(*) FILTER (_priv_kind = 'older') AS _priv_fewer,
        count(*) FILTER (_priv_kind = 'differing') AS _priv_differing
    FROM (
        SELECT *, 'newer' AS _priv_kind FROM {database}main.@table@
        UNION ALL BY NAME SELECT *, 'older' AS _priv_kind FROM {older}main.@table@
        UNION ALL BY NAME SELECT *, 'differing' AS _priv_kind FROM differing
    ) WHERE ({condition}
    ) GROUP BY ALL
), merged AS (
    SELECT * EXCLUDE (_priv_newer, _priv_value, _priv_estimate, _priv_more, _priv_fewer, _priv_differing,
            _priv_shown, _priv_square, _priv_fourth),
        max(_priv_more) AS _priv_more, max(_priv_fewer) AS _priv_fewer, max(_priv_differing) AS _priv_differing,
        list({newer: _priv_newer, value: _priv_value, estimate: _priv_estimate}) FILTER (_priv_newer IS NOT NULL) AS _priv_counts,
        list({shown: _priv_shown, square: _priv_square, fourth: _priv_fourth}) FILTER (_priv_square IS NOT NULL) AS _priv_squares
    FROM (FROM asked UNION ALL BY NAME FROM parts UNION ALL BY NAME FROM squares) GROUP BY ALL
), listed AS (
    SELECT * EXCLUDE (_priv_counts), unnest(_priv_counts) AS _priv_count FROM merged
), differences AS (
    SELECT * EXCLUDE (_priv_count), _priv_count.value AS _priv_value,
        coalesce(sum(_priv_count.estimate) FILTER (NOT _priv_count.newer), 0) AS _priv_before,
        coalesce(sum(_priv_count.estimate) FILTER (_priv_count.newer), 0) AS _priv_after
    FROM listed GROUP BY ALL
), noise AS (
    SELECT unnest(@values@)::@type@ AS _priv_valued, @largest@ AS _priv_largest, @step@ AS _priv_step, @least@ AS _priv_least, @hidden@ AS _priv_hidden
), moved AS (
    SELECT *, least(_priv_more + _priv_fewer, CASE WHEN {whole} THEN _priv_rows_moved
        ELSE _priv_differing + greatest(_priv_rows_moved - (SELECT count(*) FROM differing), 0) END) AS _priv_moved
    FROM differences CROSS JOIN reported
), bounded AS (
    -- Whatever the records that moved have, their noise is at most that of the noisiest. Rows that are seen to differ tell more: their
    -- squares, what these vary by, and for each row that may hide behind another one the noise of a record that has the value. The law
    -- of fewer rows than five is too skew for what follows.
    SELECT moved.* EXCLUDE (_priv_rows_moved, _priv_moved, _priv_squares), _priv_step, _priv_largest - _priv_least AS _priv_slope,
        CASE WHEN _priv_moved > 0 THEN _priv_largest * greatest(_priv_moved, 5) ELSE 0e0 END AS _priv_most,
        _priv_least * greatest(_priv_moved, 5) AS _priv_zero,
        [coalesce(_priv_found.square, 0) * _priv_step ** 2 + sqrt(coalesce(_priv_found.fourth, 0)) * _priv_step ** 2
            + _priv_hidden * greatest(_priv_moved - _priv_differing, 0)
         FOR _priv_found IN [list_filter(_priv_squares, lambda _priv_one: _priv_one.shown::@type@ IS NOT DISTINCT FROM _priv_value)[1]]][1] AS _priv_seen
    FROM moved JOIN noise ON _priv_valued IS NOT DISTINCT FROM _priv_value
), reached AS (
    SELECT *, sqrt(least(_priv_most, greatest(_priv_zero, _priv_seen))) AS _priv_stderr, _priv_after - _priv_before AS _priv_change,
        [{z: z, half: greatest(0.5e0, (z ** 2 - 1) / 6) * _priv_step} FOR z IN [@normal_quantile@]][1] AS _priv_at
    FROM bounded
), ended AS (
    -- A change far from the estimate needs records that have the value, and their noise is larger.
    SELECT *, CASE WHEN _priv_stderr > 0 THEN [
        least(_priv_at.z * sqrt(_priv_most), greatest(_priv_at.z * _priv_stderr, _priv_at.z ** 2 * _priv_slope / 2
            + _priv_at.z * sqrt(_priv_zero + _priv_slope * greatest(_priv_towards + _priv_at.half, 0) + (_priv_at.z * _priv_slope) ** 2 / 4)))
            + _priv_at.half
        FOR _priv_towards IN [-_priv_change, _priv_change]] ELSE [0e0, 0e0] END AS _priv_reach
    FROM reached
)
SELECT * EXCLUDE (_priv_more, _priv_fewer, _priv_differing, _priv_value, _priv_before, _priv_after, _priv_step, _priv_stderr, _priv_reach,
        _priv_slope, _priv_most, _priv_zero, _priv_seen, _priv_change, _priv_at),
    _priv_value AS value, _priv_before AS before, _priv_after AS after, _priv_change AS estimate,
    greatest(_priv_change - _priv_reach[1], -_priv_fewer)::DOUBLE AS low,
    least(_priv_change + _priv_reach[2], _priv_more)::DOUBLE AS high, _priv_stderr AS stderr
FROM ended ORDER BY ALL

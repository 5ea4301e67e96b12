-- scaled: W[x, y] is that of two_weights. A row represents as many source records as its scale says: of a large group of equal
-- public attributes a sample of sample_size records is published, which keeps the frequencies of the group.

-- name: rows.shown
coalesce(sum(@scale@::DOUBLE) FILTER (@match@), 0)

-- name: rows.total
coalesce(sum(@scale@::DOUBLE), 0)

-- name: rows.shown_squares
coalesce(sum(@scale@::DOUBLE ** 2) FILTER (@match@), 0)

-- name: rows.squares
coalesce(sum(@scale@::DOUBLE ** 2), 0)

-- name: rows.sampled
coalesce(sum(@scale@::DOUBLE ** 2) FILTER (@scale@ > 1), 0)

-- name: rows.largest
coalesce(max(@scale@::DOUBLE), 1)

-- name: cell.shown_squares
_priv_cell

-- name: cell.squares
_priv_sums.squares

-- name: cell.sampled
_priv_sums.sampled

-- name: cell.largest
_priv_sums.largest

-- name: variance
-- The unbiased variance of the perturbation, plus the most that sampling can add: a quarter of a squared weight for each sample. If
-- records have left the sample, a quarter for each row.
s.shown_squares * ((1 - s.own - s.other) / ((s.own - s.other) ** 2)) + s.squares * (s.own * s.other / ((s.own - s.other) ** 2))
    + s.sampled / (4 * @constant.together@)

-- name: typical
-- The weight of a typical record.
CASE WHEN s.total > 0 THEN s.squares / s.total ELSE 1 END

-- name: spread_of_one
-- How much the variance of an unweighted count grows when one more of the records truly has the value.
(1 - s.own - s.other) / (s.own - s.other)

-- name: slope
@spread_of_one@ * @typical@

-- name: half_step
-- Half the distance between two neighbouring estimates, of the heaviest row.
s.largest / (2 * (s.own - s.other))

-- name: excess
-- How much larger the variance is because the value is shown in heavier rows than usual, where it is.
@spread_of_one@ * greatest(@typical@ * @estimate@ - (s.shown_squares - s.other * s.squares) / (s.own - s.other), 0)

-- name: slack
-- How much the standard error may be too small because the excess was underestimated.
@spread_of_one@ * (s.largest - @typical@)

-- name: zero
-- The variance if no record had the value, and those that have it were no heavier than usual.
@variance@ + @excess@ - @slope@ * @estimate@

-- name: upward
s.largest * (1 - 2 * s.other) / (s.own - s.other)

-- name: downward
s.largest * (2 * s.own - 1) / (s.own - s.other)

-- name: total
-- How many source records the rows represent: a whole number, up to rounding errors of the sum.
round(s.total, 6)

-- name: counts
[{total: c.total, shown: c.shown,
  counts: [coalesce(list_sum([e.key.w * e.value FOR e IN list_filter(c.entries, lambda e: e.key.v IS NOT DISTINCT FROM y)]), 0)
      FOR y IN list_concat(@texts@, [NULL])]}
 FOR c IN [{total: coalesce(sum(@scale@::DOUBLE), 0), shown: coalesce(sum(@scale@::DOUBLE) FILTER (@match@), 0),
    entries: map_entries(histogram({v: CAST(@column@ AS VARCHAR), w: @scale@::DOUBLE}))}]][1]

-- name: query.sums
@rows.total@ AS _priv_total, histogram({v: @attribute@, w: @scale@::DOUBLE}) AS _priv_histogram,
        {squares: @rows.squares@, sampled: @rows.sampled@, largest: @rows.largest@} AS _priv_sums

-- name: query.shown
entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value,
        sum(_priv_entry.key.w * _priv_entry.value) AS _priv_observed,
        sum(_priv_entry.key.w ** 2 * _priv_entry.value) AS _priv_cell
    FROM entry GROUP BY ALL
)

-- name: query.empty
0e0

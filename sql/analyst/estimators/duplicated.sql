-- duplicated: W[x, y] is that of two_weights. Of a large group of equal public attributes a sample is perturbed, and its records
-- are published in copies; the scale is the average number of copies. Each published copy counts once. The noise is that of the
-- records, not of the copies.

-- name: inflation
-- How much larger a copy's part of the variance is than if it had been perturbed by itself.
CASE WHEN @scale@ > 1 THEN @scale@::DOUBLE + 0.25e0 / @scale@::DOUBLE ELSE 1e0 END

-- name: rows.shown_inflated
coalesce(sum(@inflation@) FILTER (@match@), 0)

-- name: rows.inflated
coalesce(sum(@inflation@), 0)

-- name: rows.shown_parted
coalesce(sum(1 / @scale@::DOUBLE) FILTER (@scale@ > 1 AND @match@), 0)

-- name: rows.parted
coalesce(sum(1 / @scale@::DOUBLE) FILTER (@scale@ > 1), 0)

-- name: rows.copied
coalesce(sum(@scale@::DOUBLE) FILTER (@scale@ > 1), 0)

-- name: rows.sampled
count_if(@scale@ > 1)

-- name: rows.largest
coalesce(max(@inflation@), 1)

-- name: cell.shown_inflated
_priv_cell.inflated

-- name: cell.inflated
_priv_sums.inflated

-- name: cell.shown_parted
_priv_cell.parted

-- name: cell.parted
_priv_sums.parted

-- name: cell.copied
_priv_sums.copied

-- name: cell.sampled
_priv_sums.sampled

-- name: cell.largest
_priv_sums.largest

-- name: variance
-- An upper bound of the variance from perturbing a sample and copying its records.
((1 - s.own) * (1 - s.other) * s.shown_inflated + s.own * s.other * (s.inflated - s.shown_inflated)) / (s.own - s.other) ** 2
    + greatest(s.shown_parted - s.other * s.parted, 0) / (4 * (s.own - s.other)) + s.copied / (4 * @constant.together@)

-- name: typical
-- The inflation of a typical record.
CASE WHEN s.total > 0 THEN s.inflated / s.total ELSE 1 END

-- name: spread_of_one
-- How much the variance of an unweighted count grows when one more of the records truly has the value.
(1 - s.own - s.other) / (s.own - s.other)

-- name: slope
@spread_of_one@ * @typical@

-- name: half_step
-- Half the distance between two neighbouring estimates, of the records with most copies.
s.largest / (2 * (s.own - s.other))

-- name: excess
-- How much larger the variance is because the value is shown in records with more copies than usual, where it is.
@spread_of_one@ * greatest(@typical@ * @estimate@ - (s.shown_inflated - s.other * s.inflated) / (s.own - s.other), 0)

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

-- name: row_weight
-- No weight of a row: its sum over copies would be noisier than it seems, and its sum times the scale would be wrong.
[error(_priv_text) FOR _priv_text IN ['records of this release appear in copies: write priv.reconstructed_count with weight := scale in place of a sum of weights']][1]::DOUBLE

-- name: total
-- The most source records that the rows represent: a record that should appear 1.99 times may appear once.
(s.total + s.sampled)::DOUBLE

-- name: query.sums
@rows.total@::DOUBLE AS _priv_total,
        histogram({v: @attribute@, inflation: @inflation@, part: CASE WHEN @scale@ > 1 THEN 1 / @scale@::DOUBLE ELSE 0e0 END}) AS _priv_histogram,
        {inflated: @rows.inflated@, parted: @rows.parted@, copied: @rows.copied@, sampled: @rows.sampled@,
         largest: @rows.largest@} AS _priv_sums

-- name: query.shown
entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value, sum(_priv_entry.value) AS _priv_observed,
        {inflated: sum(_priv_entry.key.inflation * _priv_entry.value),
         parted: sum(_priv_entry.key.part * _priv_entry.value)} AS _priv_cell
    FROM entry GROUP BY ALL
)

-- name: query.empty
{inflated: 0e0, parted: 0e0}

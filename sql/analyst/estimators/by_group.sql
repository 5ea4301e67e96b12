-- by_group: W[x, y] = 1{y = x} (1 + m u) - u. The retention of a record depends on the size of its group of equal public columns, and
-- the scale u of the row states it. A record that has the value shows
-- it with own = (1 + u) / (1 + m u), a record that has another of the m values with other = u / (1 + m u). It is two_weights where
-- all rows have one scale. Scales are whole numbers over 2 ** 20, so their sums are exact in any order.

-- name: rows.shown_scales
coalesce(sum(@scale@::DOUBLE) FILTER (@match@), 0)

-- name: rows.shown_squares
coalesce(sum(@scale@::DOUBLE ** 2) FILTER (@match@), 0)

-- name: rows.scales
coalesce(sum(@scale@::DOUBLE), 0)

-- name: rows.squares
coalesce(sum(@scale@::DOUBLE ** 2), 0)

-- name: rows.rarely
-- An upper bound of the average of own over the rows, or a lower bound of that of other. Own is convex in the scale and other is
-- concave, so the chord between the smallest and the largest scale bounds them.
(@rows.least@ + (@rows.mean@ - @rows.least@) / (1 + @size@ * @rows.most@)) / (1 + @size@ * @rows.least@)

-- name: rows.often
(1 + @rows.least@ - (@size@ - 1) * (@rows.mean@ - @rows.least@) / (1 + @size@ * @rows.most@)) / (1 + @size@ * @rows.least@)

-- name: rows.least
coalesce(min(@scale@::DOUBLE), 0)

-- name: rows.most
coalesce(max(@scale@::DOUBLE), 0)

-- name: rows.mean
@rows.scales@ / greatest(count(*), 1)

-- name: cell.shown_scales
_priv_cell.scales

-- name: cell.shown_squares
_priv_cell.squares

-- name: cell.scales
_priv_sums.scales

-- name: cell.squares
_priv_sums.squares

-- name: estimate
s.shown + @size@ * s.shown_scales - s.scales

-- name: variance
-- Sum over the rows of their squared weights, minus the estimate: unbiased for the variance.
s.scales + s.squares + (@size@ - 2) * (s.shown_scales + @size@ * s.shown_squares)

-- name: typical
-- The scale of a typical row, and of one that the noise comes from.
CASE WHEN s.total > 0 THEN s.scales / s.total ELSE 0 END

-- name: noisy
CASE WHEN s.scales > 0 THEN s.squares / s.scales ELSE 0 END

-- name: slope
-- How much the variance grows when one more of the records truly has the value, in a typical row.
(@size@ - 2) * @typical@

-- name: zero
-- The exact variance if no record had the value; and how much more its records add to the variance than typical ones.
s.scales + (@size@ - 1) * s.squares
    + (@size@ - 2) * greatest(s.shown_scales + @size@ * s.shown_squares - s.squares - @typical@ * @estimate@, 0)

-- name: half_step
-- Half the distance between two neighbouring estimates.
(1 + @size@ * @noisy@) / 2

-- name: upward
1 + (@size@ - 2) * @noisy@

-- name: downward
1 - (@size@ - 2) * @noisy@

-- name: row_weight
(@match@)::INTEGER * (1 + @size@ * @scale@::DOUBLE) - @scale@::DOUBLE

-- name: mle
-- That of two_weights, as if all rows had the average scale and each value were shown as often as gives its estimate: every row
-- counts as it counts for the unbiased estimates, and where none of these is negative, it is the unbiased estimate. As in two_weights,
-- the frequencies are max(0, step * (scale * observed) - (step - 1) / m), and their sum is one.
[CASE WHEN t.total = 0 THEN 0e0 ELSE t.total * greatest(0, t.step * list_reduce(
        list_concat([1e0], [0e0 FOR step IN range(64)]),
        lambda scale, step: (1 + t.noise * len(list_filter(t.observed, lambda o: o * scale * t.step > t.noise)))
            / (t.step * list_sum(list_filter(t.observed, lambda o: o * scale * t.step > t.noise)))
    ) * t.shown / t.total - t.noise) END
 FOR t IN [{total: c.total, shown: c.shown / c.step, step: c.step, noise: (c.step - 1) / @size@,
            observed: [each / c.step / c.total FOR each IN c.counts]}
  FOR c IN [{total: d.total, shown: d.shown, counts: d.counts, step: CASE WHEN d.total > 0 THEN 1 + @size@ * d.scales / d.total ELSE 1 END}
   FOR d IN [@counts@]]]][1]

-- name: counts
[{total: c.total, scales: c.scales, shown: c.shown,
  counts: [coalesce(list_sum([(1 + @size@ * e.key.u) * e.value FOR e IN list_filter(c.entries, lambda e: e.key.v IS NOT DISTINCT FROM y)]), 0)
           FOR y IN list_concat(@texts@, [NULL])]}
 FOR c IN [{total: count(*)::DOUBLE, scales: coalesce(sum(@scale@::DOUBLE), 0),
    shown: coalesce(count_if(@match@) + @size@ * sum(@scale@::DOUBLE) FILTER (@match@), 0),
    entries: map_entries(histogram({v: CAST(@column@ AS VARCHAR), u: @scale@::DOUBLE}))}]][1]

-- name: query.sums
@rows.total@ AS _priv_total, histogram({v: @attribute@, u: @scale@::DOUBLE}) AS _priv_histogram,
        {scales: @rows.scales@, squares: @rows.squares@} AS _priv_sums

-- name: query.shown
entry AS (
    SELECT _priv_group, unnest(map_entries(_priv_histogram)) AS _priv_entry FROM numbered
), shown AS (
    SELECT _priv_group, _priv_entry.key.v::@type@ AS _priv_value, sum(_priv_entry.value)::BIGINT AS _priv_observed,
        {scales: sum(_priv_entry.key.u * _priv_entry.value), squares: sum(_priv_entry.key.u ** 2 * _priv_entry.value)} AS _priv_cell
    FROM entry GROUP BY ALL
)

-- name: query.empty
{scales: 0e0, squares: 0e0}

-- name: em_shown
-- How often the value would be shown, over the average of 1 + m u, if all rows had the average scale.
_priv_observed + @size@ * _priv_cell.scales

-- name: em_ratio
-- Observed over expected count, for every published value. The observed counts sum to that average.
[[e[1] / greatest(e[2] + noise, 1e-300) FOR e IN list_zip(shown, f)] FOR noise IN [greatest(list_sum(shown) - 1, 0) / @size@]][1]

-- name: em_step
-- Every true value takes the part of the published counts that it is likely to have caused.
[[e[1] * (e[2] + noise * list_sum(ratio)) / (1 + @size@ * noise) FOR e IN list_zip(f, ratio)]
 FOR noise IN [greatest(list_sum(shown) - 1, 0) / @size@]][1]

-- name: law
-- Pr[a record shows the value | it has it] and Pr[... | it has another], at a scale.
{own: (1 + _priv_scale) / (1 + @size@ * _priv_scale), other: _priv_scale / (1 + @size@ * _priv_scale)}

-- two_weights: W[x, y] = (1{y = x} - other) / (own - other), of two probabilities: a record that has the value shows it with
-- own, a record that has any other value with other. Weights and interval need no more than how many of the rows match.
--
-- A form with the same law and another meaning of a match defines only match, query.shown and the steps of the iterative
-- Bayesian method. A form whose law differs between rows defines weight, and the sums of it.

-- name: gap
@number.own@ - @number.other@

-- name: rows.shown
coalesce(count_if(@match@), 0)

-- name: cell.shown
_priv_observed

-- name: estimate
-- Inverts E[shown] = own * true + other * (total - true).
(s.shown - s.other * s.total) / (s.own - s.other)

-- name: variance
-- Sum over the rows of their squared weights, minus the estimate: unbiased for the variance.
s.shown * ((1 - s.own - s.other) / ((s.own - s.other) ** 2)) + s.total * (s.own * s.other / ((s.own - s.other) ** 2))

-- name: slope
-- How much the variance grows when one more of the records truly has the value.
(s.own * (1 - s.own) - s.other * (1 - s.other)) / (s.own - s.other) ** 2

-- name: half_step
-- Half the distance between two neighbouring estimates: the continuity correction.
0.5e0 / (s.own - s.other)

-- name: zero
-- The variance if no record had the value, exactly.
s.total * (s.other * (1 - s.other) / ((s.own - s.other) ** 2))

-- name: upward
(1 - 2 * s.other) / (s.own - s.other)

-- name: downward
(2 * s.own - 1) / (s.own - s.other)

-- name: row_weight
((@match@)::INTEGER - @number.other@) / @gap@

-- name: mle
-- The frequencies max(0, (scale * observed - other) / gap) that sum to one (Karush-Kuhn-Tucker). Newton's
-- method for the scale on a convex, piecewise linear function: every step at least halves the
-- residual or the number of records in play, so 64 steps end beyond double precision.
[CASE WHEN t.total = 0 THEN 0e0 ELSE t.total * greatest(0, (list_reduce(
        list_concat([1e0], [0e0 FOR step IN range(64)]),
        lambda scale, step: (@gap@ + @number.other@ * len(list_filter(t.observed, lambda o: o * scale > @number.other@)))
            / list_sum(list_filter(t.observed, lambda o: o * scale > @number.other@))
    ) * t.shown / t.total - @number.other@) / @gap@) END
 FOR t IN [{total: c.total, shown: c.shown, observed: [each / c.total FOR each IN c.counts]} FOR c IN [@counts@]]][1]

-- name: counts
-- How many records the rows represent, how many of them show the value, and how many show each value.
{total: count(*)::DOUBLE, shown: coalesce(count_if(@match@), 0)::DOUBLE,
 counts: list_concat(map_values(histogram(_column)), [coalesce(count_if(_column IS NULL), 0)::UBIGINT])::DOUBLE[]}

-- name: em_ratio
-- Observed over expected count, for every published value.
[list_extract(shown, y) / greatest((list_extract(_priv_own, y) - list_extract(_priv_other, y)) * list_extract(f, y)
    + list_extract(_priv_other, y), 1e-300) FOR y IN range(1, @size@ + 1)]

-- name: em_step
-- Every true value takes the part of the published counts that it is likely to have caused.
[list_extract(f, x) * ((list_extract(_priv_own, x) - list_extract(_priv_other, x)) * list_extract(ratio, x)
    + list_dot_product(_priv_other, ratio)) FOR x IN range(1, @size@ + 1)]

-- name: law
-- Pr[a record shows the value | it has it] and Pr[... | it has another].
{own: list_extract(@numbers.own@, @place@), other: list_extract(@numbers.other@, @place@)}

-- conditional_poisson: W[x, y] = inclusion of x * (potential of x - potential of y) / (odds of y - odds of x), a slope between
-- two points (odds, potential), from five numbers per value: those of the decoy groups of values that are not equally frequent
-- (conditional_poisson.md). Values of the same odds share one weight, tied_weight; a value has its own_weight for itself.

-- name: w
-- The weight, of two values x and y.
CASE WHEN x.position = y.position THEN x.own_weight WHEN x.odds = y.odds THEN x.tied_weight
    ELSE x.inclusion * (x.potential - y.potential) / (y.odds - x.odds) END

-- name: p
-- Pr[published = y | true = x]: two values meet in a group as often as the conditional Poisson law says,
-- (odds of x * inclusion of y - odds of y * inclusion of x) / (odds of x - odds of y).
CASE WHEN x.position = y.position THEN 1 / @constant.gamma@ WHEN x.inclusion = 0 THEN 0e0
    WHEN x.odds = y.odds THEN x.tied_joint / (@constant.gamma@ * x.inclusion)
    ELSE (x.odds * y.inclusion - y.odds * x.inclusion) / (x.odds - y.odds) / (@constant.gamma@ * x.inclusion) END

-- name: domain
-- The numbers of all values.
[{position: i, odds: list_extract(@numbers.odds@, i), potential: list_extract(@numbers.potential@, i),
  inclusion: list_extract(@numbers.inclusion@, i), own_weight: list_extract(@numbers.own_weight@, i),
  tied_weight: list_extract(@numbers.tied_weight@, i), tied_joint: list_extract(@numbers.tied_joint@, i)}
 FOR i IN range(1, @size@ + 1)]

-- name: row
-- W[value, y] for every y.
[[[@w@ FOR y IN n.domain] FOR x IN [list_extract(n.domain, n.position)]][1]
 FOR n IN [{domain: @domain@, position: @position@}]][1]

-- name: list.weights
[[@w@ FOR y IN @domain@] FOR x IN @domain@]

-- name: list.operators
[[@p@ FOR y IN @domain@] FOR x IN @domain@]

-- name: list.likelihoods
[[@p@ FOR x IN @domain@] FOR y IN @domain@]

-- name: query.numbers

-- name: query.window
-- How often the group shows each value, and the weight of the value.
[[[[{n: e.n, w: @w@} FOR y IN [e.v]][1] FOR e IN g.others] FOR x IN [g.numbers]][1]
     FOR g IN [{numbers: _priv_numbers, others: list({v: _priv_numbers, n: _priv_observed}) OVER of_group}]][1]

-- name: cell.weighed
list_sum([e.w * e.n FOR e IN _priv_window])

-- name: cell.noise
list_sum([(e.w * e.w - e.w) * e.n FOR e IN _priv_window])

-- name: chances
-- The smallest and the largest probability: the values of a group are drawn for all its records together.
[0e0, least(len(@places@) / @constant.gamma@, 1)]

-- name: selected
[@row@ FOR _priv_x IN @places@]

-- name: rows.chances
@chances@

-- name: rows.rarely
list_min(s.chances)

-- name: rows.often
list_max(s.chances)

-- name: plausible
@as_many@ AND @several@

-- name: agreement
-- The largest probability with which a record shows any one value.
1 / @constant.gamma@

-- name: variance
-- The sum of the squared weights of the rows, minus the estimate, minus the covariance with the histogram.
@kept@ * s.noise

-- name: slope
-- How much the variance grows when one more of the records truly has the value.
@kept_slope@ * s.slope

-- name: floor
@kept@ * (greatest(s.total - 1, 0) * s.scatter + s.most_scatter)

-- name: mle_start
[greatest(list_dot_product(w, shown), 1e-6) FOR w IN _priv_weights]

-- name: law
-- Pr[a record shows the value | it has it] and Pr[... | it has another].
{own: list_extract(@numbers.own@, @place@), other: list_extract(@numbers.other@, @place@)}

-- sample: W[x, y] = 1{y = x}, of records that represent 1 / own records each. Nothing is perturbed, and a record is in the sample
-- with the probability own. How many source records the rows represent is not known: the sample may have left out any number.

-- name: estimate
s.shown / s.own

-- name: variance
s.shown * (1 - s.own) / s.own ** 2

-- name: slope
(1 - s.own) / s.own

-- name: half_step
0.5e0 / s.own

-- name: zero
0e0

-- name: upward
(1 - 2 * s.own) / s.own

-- name: downward
(2 * s.own - 1) / s.own

-- name: certain
-- The records that show the value have it.
s.shown::DOUBLE

-- name: hidden
-- Classes with fewer than k sampled records are suppressed. Each class that may have the value hides about k / own records at most.
-- Which of them are among the chosen rows is not known, so all that the levels allow are counted, except one that is seen
-- (scaled_count.md).
@classes@ * @constant.k@ / s.own

-- name: classes
greatest(@constant.classes@ / @size@ - CASE WHEN s.shown > 0 THEN 1 ELSE 0 END, 0)

-- name: hidden_spread
sqrt(@classes@) * (sqrt(@constant.k@) + 2) / s.own

-- name: total
'inf'::DOUBLE

-- name: row_weight
-- The weight of a row before scaling.
(@match@)::INTEGER::DOUBLE

-- name: mle
-- The likelihood of n in Bin(n, own) is largest at the estimate.
@estimate@

-- name: em_ratio
-- Nothing is perturbed, so no test of plausibility is needed.
[1e0 FOR y IN range(@size@)]

-- name: em_step
-- Every sampled record represents 1 / own records: one step is enough.
[list_extract(shown, x) / list_extract(_priv_own, x) FOR x IN range(1, @size@ + 1)]

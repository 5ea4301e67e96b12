-- sample: W[x, y] = 1{y = x}, of records that stand for 1 / own each: nothing is perturbed, and a record is there with the
-- probability own. How many source records the rows stand for is not known: the sample may have left out any number.

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

-- name: total
'inf'::DOUBLE

-- name: row_weight
-- What a row counts for before it is scaled.
(@match@)::INTEGER::DOUBLE

-- name: mle
-- The likelihood of n in Bin(n, own) is largest at the estimate.
@estimate@

-- name: em_ratio
-- Nothing is perturbed, so nothing is compared.
[1e0 FOR y IN range(@size@)]

-- name: em_step
-- Every shown record stands for as many as were not sampled with it: one step is enough.
[list_extract(shown, x) / list_extract(_priv_own, x) FOR x IN range(1, @size@ + 1)]

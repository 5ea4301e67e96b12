-- constant: W[x, y] is own, the share of x in the whole table, whatever y is. What a row shows carries no information, and the shares
-- of the whole table are published instead.

-- name: estimate
s.own * s.total

-- name: variance
-- As if the rows were chosen at random, without regard to the value (hypergeometric).
s.own * (1 - s.own) * s.total * greatest(@constant.rows@ - s.total, 0) / greatest(@constant.rows@ - 1, 1)

-- name: slope
-- The variance depends on the number of rows alone.
0e0

-- name: half_step
-- Half the distance between two neighbouring true counts: the true counts vary, not the estimates.
0.5e0

-- name: zero
-- The variance depends on the number of rows alone.
@variance@

-- name: upward
0e0

-- name: downward
0e0

-- name: row_weight
-- Every row has the same weight, whatever it shows.
@number.own@

-- name: mle
-- The estimate: nothing that is published says more.
@estimate@

-- name: em_ratio
-- What a row shows carries no information.
shown

-- name: em_step
-- The shares of the whole table: no iteration is needed.
_priv_own

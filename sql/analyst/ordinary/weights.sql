-- weights: how much a row that reports y counts for the true value x, for each form: W[x, y], over two rows of priv.coefficient.
--
-- Summed over the rows of any subset it estimates how many of them have x, unbiased (mechanism/operator.md). x is the row of
-- the true value, y that of the reported one. A weight is NULL where nothing is known of the true value. Every section has
-- the name of a form; a form without y does not depend on what is reported, or reports a list or a block.

-- name: two_weights
(CASE WHEN x.position = y.position THEN 1 ELSE 0 END - x.other) / (x.own - x.other)

-- name: blocks
-- What is reported is the number of a block: whether it holds the value.
(get_bit(CAST(repeat(@incidence@, 2) AS BIT), @reported@::INTEGER + CAST(@blocks@ - (@stride@ * x.position) % @blocks@ AS INTEGER)) - x.other) / (x.own - x.other)

-- name: by_group
(CASE WHEN x.position = y.position THEN 1 + @size@ * @scale@ ELSE 0 END - @scale@)

-- name: scaled
(CASE WHEN x.position = y.position THEN 1 ELSE 0 END - x.other) / (x.own - x.other)

-- name: duplicated
(CASE WHEN x.position = y.position THEN 1 ELSE 0 END - x.other) / (x.own - x.other)

-- name: two_by_two
-- A value in every decoy group has no estimate.
CASE WHEN x.own - x.other > 1e-12 THEN (CASE WHEN x.position = y.position THEN 1 ELSE 0 END - x.other) / (x.own - x.other) END

-- name: rank_one
-- The count of the one value without retention is the rest of the others.
CASE WHEN x.retention > 0 THEN (CASE WHEN x.position = y.position THEN 1 ELSE 0 END - y.background) / x.retention
 WHEN y.retention > 0 THEN 1 - 1 / y.retention ELSE 1 + x.inverses END

-- name: inverses
-- The sum of the inverse retentions, in the rows of priv.coefficient.
sum(1 / nullif(retention, 0)) OVER ()

-- name: singular
-- Several values without retention cannot be distinguished.
CASE WHEN x.retention > 0 THEN (CASE WHEN x.position = y.position THEN 1 ELSE 0 END - y.background) / x.retention END

-- name: operator
list_extract(x.weights, y.position + 1)

-- name: batches
list_extract(x.weights, y.position + 1)

-- name: conditional_poisson
CASE WHEN x.position = y.position THEN x.own_weight WHEN x.odds = y.odds THEN x.tied_weight
 ELSE x.inclusion * (x.potential - y.potential) / (y.odds - x.odds) END

-- name: constant
x.own

-- name: listed
1e0 / len(@reported@)

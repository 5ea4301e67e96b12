-- two_by_two: W[x, y] = (1{y = x} - other) / (own - other), with an own and an other for each value x: those of a decoy group,
-- on average over the records that have other values. For a value in every decoy group own and other are the same: what
-- is published carries no information about it, and only bounds of its count are known.

-- name: row
-- W[value, y] for every y, NULL for a value without an estimate. It raises no error, which DuckDB 2 would compute for each row.
[[CASE WHEN v.own - v.other > 1e-12 THEN (CASE WHEN y = v.position THEN 1 ELSE 0 END - v.other) / (v.own - v.other) END
  FOR y IN range(1, @size@ + 1)] FOR v IN [{own: @number.own@, other: @number.other@, position: @position@}]][1]

-- name: estimable
-- Whether every value of a set has an estimate.
list_min([@number.own@ - @number.other@ FOR _priv_x IN @places@]) > 1e-12

-- name: silent
-- The error message for a value without an estimate.
[error(_priv_text) FOR _priv_text IN ['this value is in every decoy group, so what is published says nothing of it but bounds' || chr(10) || 'Hint: priv.reconstructed_interval gives them']][1]

-- name: chances
-- The smallest and the largest probability: the values of a group are drawn for all its records together.
[0e0, least(len(@places@) * @number.own@, 1)]

-- name: rows.rarely
0e0

-- name: plausible
@as_many@ AND @several@

-- name: agreement
-- The largest probability with which a record shows any one value.
list_max(@numbers.own@)

-- name: fewest
-- Bounds of such a count. At most a share own of all records have the value. The lower bound allows for five standard deviations
-- of how often the value was shown.
greatest(s.total + @source@ - @constant.rows@, 0)

-- name: source
-- The root of f + 5 sqrt(f (1 - own)) = rows * own: how often f records show the value has the variance f (1 - own).
(((@constant.rows@ * s.own + 6.25e0 * (1 - s.own)) ** 0.5e0) - 2.5e0 * ((1 - s.own) ** 0.5e0)) ** 2

-- name: most
least(s.total, @constant.rows@ * s.own)

-- name: difference
(s.own - s.other)

-- name: linear
(s.shown - s.other * s.total) / @difference@

-- name: estimate
CASE WHEN @difference@ > 1e-12 THEN @linear@ ELSE @silent@ END

-- name: centre
CASE WHEN @difference@ > 1e-12 THEN @linear@ ELSE (@fewest@ + @most@) / 2 END

-- name: spread
-- The sum of the squared weights of the rows, minus the estimate, minus the covariance with the histogram. NULL if only bounds
-- are known.
CASE WHEN @difference@ > 1e-12 THEN
    @kept@ * ((s.shown * (1 - s.other) ** 2 + (s.total - s.shown) * s.other ** 2) / @difference@ ** 2 - @linear@) END

-- name: variance
CASE WHEN @difference@ > 1e-12 THEN @spread@ ELSE @silent@ END

-- name: slope
-- How much the variance grows when one more of the records truly has the value.
CASE WHEN @difference@ > 1e-12
    THEN @kept_slope@ * (s.own * (1 - s.own) - s.other * (1 - s.other)) / @difference@ ** 2 ELSE 0e0 END

-- name: half_step
-- Half the distance between two neighbouring estimates, or between the bounds.
CASE WHEN @difference@ > 1e-12 THEN 0.5e0 / @difference@ ELSE (@most@ - @fewest@) / 2 END

-- name: zero
CASE WHEN @difference@ > 1e-12 THEN greatest(@spread@ - @slope@ * least(greatest(@linear@, 0), s.total),
    @kept@ * s.total * s.other * (1 - s.other) / @difference@ ** 2) ELSE 0e0 END

-- name: upward
CASE WHEN @difference@ > 1e-12 THEN (1 - 2 * s.other) / @difference@ ELSE 0e0 END

-- name: downward
0e0

-- name: row_weight
CASE WHEN @gap@ > 1e-12 THEN ((@match@)::INTEGER - @number.other@) / @gap@ ELSE @silent@ END

-- name: mle
-- The fixed point of the iteration over two states, the value and any other: the estimate, cut to the possible range.
CASE WHEN @difference@ > 1e-12 THEN least(greatest(@linear@, 0), s.total)::DOUBLE ELSE @silent@ END

-- name: em_ratio
-- The observed share, from which the two states of each value are iterated.
shown

-- name: em_step
-- For each value, the fixed point of the iteration over two states, the value and any other. It has a closed form.
[CASE WHEN list_extract(_priv_own, x) - list_extract(_priv_other, x) > 1e-12
    THEN least(greatest((list_extract(ratio, x) - list_extract(_priv_other, x))
        / (list_extract(_priv_own, x) - list_extract(_priv_other, x)), 0), 1) END FOR x IN range(1, @size@ + 1)]

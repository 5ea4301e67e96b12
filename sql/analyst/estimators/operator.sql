-- operator: W[x, y] is a separate number for each x and y. W is the inverse of the matrix Pr[published = y | true = x].
-- s.weighed is the sum of W[value, shown] over the rows, s.noise that of W ** 2 - W; both come from s.shown, the histogram of
-- what the rows show. A matrix is read once for a function: one row of it for a value, all of it for a set.

-- name: row
-- W[value, y] for every y.
@row.weights@

-- name: selected
@some.weights@

-- name: rows.shown
-- How often the rows show each value, and the weight of the value.
{weights: @row@, entries: map_entries(histogram(@column@)), missing: @missing@}

-- name: rows.weighed
coalesce(list_sum([list_extract(s.shown.weights, list_position(@texts@, CAST(e.key AS VARCHAR) COLLATE C)) * e.value
        FOR e IN s.shown.entries]), 0e0)
    + s.shown.missing * list_extract(s.shown.weights, -1)

-- name: rows.noise
coalesce(list_sum([(e.w * e.w - e.w) * e.n
        FOR e IN [{w: list_extract(s.shown.weights, list_position(@texts@, CAST(e.key AS VARCHAR) COLLATE C)), n: e.value}
            FOR e IN s.shown.entries]]), 0e0)
    + s.shown.missing * (list_extract(s.shown.weights, -1) ** 2 - list_extract(s.shown.weights, -1))

-- name: records.seen
coalesce(count_if(@match@), 0)

-- name: places
[@position@]

-- name: chances
-- Pr[a record shows one of the places | it has x]: the least, and the most.
-- They are rounded down by up to one part in 4,096.
[[list_min(c), least(list_max(c) * 1.000244140625e0, 1)] FOR c IN
    [[coalesce(list_sum([list_extract(r, x) FOR r IN l]), 0) FOR x IN range(1, @size@ + 1)] FOR l IN
        [@some.chances@]]][1]

-- name: rows.rarely
@number.rarely@

-- name: rows.often
@number.often@

-- name: records.weighed
coalesce(sum(list_extract(@row@, @shown_position@)), 0e0)

-- name: records.noise
coalesce(sum(list_extract([w * w - w FOR w IN @row@], @shown_position@)), 0e0)

-- name: query.numbers
weights: unnest(@matrix.weights@)

-- name: query.window
list(_priv_observed ORDER BY _priv_position ASC) OVER of_group

-- name: cell.weighed
list_dot_product(_priv_numbers.weights, _priv_window)

-- name: cell.noise
list_dot_product([w * w - w FOR w IN _priv_numbers.weights], _priv_window)

-- name: estimate
s.weighed

-- name: variance
-- The sum of the squared weights of the rows, minus the estimate: unbiased for the variance.
s.noise

-- name: slope
-- How much the variance grows when one more of the records truly has the value.
s.slope

-- name: half_step
-- Half the distance between neighbouring estimates: the continuity correction.
s.half_step

-- name: zero
-- The variance if no record had the value, extrapolated linearly from the nearest possible count. It is at least the variance of
-- records that are distributed as in the whole release, without one of the noisiest. Without this bound, rows that show none of the
-- heavily weighted values would seem to have no noise.
greatest(@variance@ - @slope@ * least(greatest(@estimate@, 0), @total@), @floor@)

-- name: floor
greatest(s.total - 1, 0) * s.scatter + s.most_scatter

-- name: upward
s.upward

-- name: downward
s.downward

-- name: row_weight
list_extract(@row@, CASE WHEN _column IS NULL THEN @size@ ELSE list_position(@texts@, CAST(_column AS VARCHAR) COLLATE C) END)

-- name: list.weights
-- W[x, y], a list of the weights of every y for each x.
@matrix.weights@

-- name: list.operators
-- Pr[published = y | true = x], a list of y for each x.
@matrix.operator@

-- name: list.likelihoods
-- The same, a list of x for each y.
[[list_extract(o, y) FOR o IN _priv_operators] FOR y IN range(1, @size@ + 1)]

-- name: mle
-- A thousand steps of the iterative Bayesian method (expectation maximization). With g the largest factor by which a frequency
-- would grow in the next one, the log-likelihood of a record is within ln g of its maximum (operator.md): an error where that
-- is more than a twentieth for all records together.
[[CASE WHEN t.total = 0 THEN 0e0 ELSE [[
        CASE WHEN t.total * (list_max([CASE WHEN e[1] > 0 THEN e[2] / e[1] ELSE 0 END FOR e IN list_zip(f, next)]) - 1) <= 0.05
            THEN t.total * list_extract(next, t.position)
            ELSE [error(_priv_text) FOR _priv_text IN ['the iterative Bayesian method did not settle in 1000 steps; ask for larger groups, or write priv.reconstructed_count']][1]::DOUBLE END
        FOR next IN [[@em_step@ FOR ratio IN [@em_ratio@]][1]]][1]
    FOR f IN [list_reduce(
        list_concat([@mle_start@], [[0e0] FOR step IN range(1000)]),
        lambda f, step: [@em_step@ FOR ratio IN [@em_ratio@]][1]
    )]][1] END
 FOR shown IN [[coalesce(list_extract(map_extract(t.histogram, y), 1), 0) / greatest(t.total, 1) FOR y IN @texts@]
    || @missing_share@]][1]
 FOR t IN [{
    total: count(*)::DOUBLE, histogram: histogram(CAST(@column@ AS VARCHAR)), missing: @missing@,
    position: @position@
 }]][1]

-- name: mle_start
@em_start@

-- name: em_start
-- The linear estimate, with a small positive share for values that have none. If it is not negative, it is the answer.
[[e / list_sum(start) FOR e IN start]
 FOR start IN [[CASE WHEN e > 0 THEN e ELSE 0.1e0 / @size@ END FOR e IN [list_dot_product(w, shown) FOR w IN _priv_weights]]]][1]

-- name: em_ratio
-- Observed over expected count, for every published value.
[e[1] / greatest(list_dot_product(e[2], f), 1e-300) FOR e IN list_zip(shown, _priv_likelihoods)]

-- name: em_step
-- Every true value takes the part of the published counts that it is likely to have caused.
[e[1] * list_dot_product(e[2], ratio) FOR e IN list_zip(f, _priv_operators)]

-- name: law
-- Pr[a record shows the value | it has it] and Pr[... | it has another], on average over the records that have others:
-- the rows that show the value, minus the expected ones that have it.
(SELECT {own: own, other: (seen - own * estimate) / (total - estimate)} FROM (
    SELECT list_extract(@numbers.own@, @place@) AS own, sum(n)::DOUBLE AS total, coalesce(sum(n) FILTER (y = @place@), 0) AS seen,
        sum(n * @law_weight@) AS estimate
    FROM (SELECT coalesce(list_position(@texts@, @attribute@::VARCHAR COLLATE C), @size@) AS y, count(*) AS n FROM @table@ GROUP BY ALL)))

-- name: law_weight
-- W[value, y].
list_extract(@row.weights@, y)

-- aggregates: what the schema estimated has instead of the aggregates of DuckDB: sums of the weights of rows.
--
-- A name on the search path comes before a function of DuckDB of the same name. The columns "current_role" and "current_user" of
-- the view hold the weight of a row, and what the error of a sum needs of it: as these are values of SQL as well, a macro can name
-- them though a statement does not. Other tables have no such column: there the name of the user is found, and a row counts once.

-- name: weight
CASE WHEN typeof("current_role") = 'DOUBLE' THEN TRY_CAST("current_role" AS DOUBLE) ELSE 1e0 END

-- name: row
coalesce(TRY_CAST("current_user" AS @row_type@), CAST(error(@unweighed@) AS @row_type@))

-- name: count_star
coalesce(system.main.sum(@weight@), 0)

-- name: count
coalesce(system.main.sum(CASE WHEN x IS NOT NULL THEN @weight@ END), 0)

-- name: count_if
coalesce(system.main.sum(CASE WHEN x THEN @weight@ END), 0)

-- name: sum
system.main.sum(x * @weight@)

-- name: avg
-- NULL where the estimated number of records is not above zero.
system.main.sum(x * @weight@) / nullif(greatest(system.main.sum(CASE WHEN x IS NOT NULL THEN @weight@ END), 0), 0)

-- name: value.count_star
1e0

-- name: value.count
CASE WHEN x IS NOT NULL THEN 1e0 END

-- name: value.count_if
CASE WHEN x THEN 1e0 END

-- name: value.sum
CAST(x AS DOUBLE)

-- name: spread
-- What the error of a sum of @value@ is made of. A cell is the records that agree in all that the statement mentions; w is the
-- weight of one of its rows, h what the weights of its counted rows make of the sum, q the same of the squares, where a row that a
-- join repeats adds as often. The sum of h * h - q over the records is the variance without bias; a is what sampling adds at most.
-- The rows are read once, in the order of the cells; a last element closes the last cell.
list_reduce(list_concat(
    [{cell: (e.r).cell, x: (e.r).x, n: (e.r).records, s: (e.r).squares, a: (e.r).sampled, w: (e.r).w, v: e.v, h: (e.r).w * e.v,
      q: (e.r).w * e.v ** 2, published: (e.r).published, @nothing@}
     FOR e IN coalesce(list({r: @row@, v: @value@} ORDER BY (@row@).cell, (@row@).x) FILTER (WHERE @value@ <> 0), [])],
    [{cell: -1, x: 0, n: 0e0, s: 0e0, a: 0e0, w: 0e0, v: 0e0, h: 0e0, q: 0e0, published: 'inf'::DOUBLE, @nothing@}]),
    lambda p, e: CASE WHEN p.cell = e.cell THEN
        {cell: e.cell, x: e.x, n: e.n, s: e.s, a: greatest(p.a, e.a), w: e.w, v: e.v + CASE WHEN p.x = e.x THEN p.v ELSE 0 END,
         h: p.h + e.h, q: p.q + e.q + CASE WHEN p.x = e.x THEN 2 * e.w * p.v * e.v ELSE 0 END, published: p.published,
         variance: p.variance, low: p.low, high: p.high, records: p.records, sum: p.sum, squares: p.squares}
     ELSE
        {cell: e.cell, x: e.x, n: e.n, s: e.s, a: e.a, w: e.w, v: e.v, h: e.h, q: e.q, published: p.published,
         variance: p.variance + p.s * (p.h ** 2 - p.q) + p.a, low: least(p.low, p.h), high: greatest(p.high, p.h),
         records: p.records + p.n, sum: p.sum + p.n * p.h, squares: p.squares + p.n * p.h ** 2} END)

-- name: nothing
variance: 0e0, low: 'inf'::DOUBLE, high: '-inf'::DOUBLE, records: 0e0, sum: 0e0, squares: 0e0

-- name: moments
-- What the interval of a count is made of (estimators/common.sql). Where each cell counts one of two numbers, they give the two
-- probabilities of a set of values; elsewhere the variance is taken to grow as between the extremes. Where weights come from the
-- histogram of what is published, a part of the variance of a set is left (splu.md).
[[{estimate: m.estimate, variance: k.kept * greatest((m.s).variance, 0), slope: (1 - k.share * k.shrinkage ** 2) * k.slope,
    half_step: k.step / 2,
    zero: CASE WHEN k.two = 1 THEN k.kept * (m.s).records * greatest(-(m.s).low * (m.s).high, 0)
        ELSE greatest((m.s).variance - k.slope * least(greatest(m.estimate, 0), (m.s).records), 0) END,
    slack: 0e0, upward: CASE WHEN k.two = 1 THEN k.slope + 1 ELSE 0e0 END, downward: CASE WHEN k.two = 1 THEN 1 - k.slope ELSE 0e0 END,
    certain: 0e0, hidden: 0e0, hidden_spread: 0e0, total: (m.s).records, z: 1.959963984540054e0}
  FOR k IN [
   [{two: k.two, step: k.step, share: k.share, shrinkage: k.two * k.shrinkage,
     slope: CASE WHEN k.step > 0 THEN (m.s).high + (m.s).low - 1 ELSE 0e0 END,
     kept: (1 - k.share * k.two * k.shrinkage) ** 2 + 2 * k.share * (1 - k.share) * (k.two * k.shrinkage) ** 2}
    FOR k IN [{step: greatest((m.s).high - (m.s).low, 0), share: least((m.s).records / greatest((m.s).published, 1), 1),
      shrinkage: greatest(1 - 1 / nullif((m.s).high - (m.s).low, 0), 0), two: CAST((m.s).high > (m.s).low AND abs((m.s).squares
          - ((m.s).low + (m.s).high) * (m.s).sum + (m.s).low * (m.s).high * (m.s).records) <= 1e-9 * (1 + (m.s).squares) AS INTEGER)}]][1]]][1]
 FOR m IN [{estimate: @estimate@, s: @spread@}]][1]

-- name: ends.count
[@interval@ FOR i IN [@moments@]][1]

-- name: ends.sum
-- By the one test of estimators/common.sql, with the variance at the estimate.
[[@ends@ FOR u IN [@tested.sum@]][1] FOR k IN [{n: @sum@, v: (@spread.sum@).variance}]][1]

-- name: tested.sum
{estimate: k.n, variance: k.v, there: k.v, rise: 0e0, fall: 0e0, above: 0e0, below: 0e0, least: '-inf'::DOUBLE, most: 'inf'::DOUBLE,
 more: 0e0, less: 0e0, z: 1.959963984540054e0}

-- name: tested.count
{estimate: k.d, variance: k.w, there: k.w, rise: 0e0, fall: 0e0, above: 0e0, below: 0e0, least: '-inf'::DOUBLE, most: 'inf'::DOUBLE,
 more: 0e0, less: 0e0, z: 1.959963984540054e0}

-- name: ends.avg
-- The covariance of a sum and a count follows from the variance of the sum of both.
[[@quotient@ FOR p IN [{a: @tested.sum@, b: @tested.count@, covariance: (k.t - k.v - k.w) / 2, least: '-inf'::DOUBLE,
    most: 'inf'::DOUBLE, factor: 1e0, constant: 0e0}]][1]
 FOR k IN [{n: @sum@, d: @count@, v: (@spread.sum@).variance, w: (@spread.count@).variance, t: (@spread.both@).variance}]][1]

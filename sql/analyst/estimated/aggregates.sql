-- aggregates: what the schema estimated has instead of the aggregates of DuckDB: sums of the weights of rows.
--
-- A name on the search path comes before a function of DuckDB of the same name. The columns "current_role" and "current_user" of
-- the view hold the weight of a row, and what the error of a sum needs of it: as these are values of SQL as well, a macro can name
-- them though a statement does not. Other tables have no such column: there the name of the user is found, and a row counts once.
--
-- The error of a sum is made by macros of the same schema, whose names begin with _priv_ (estimator/estimated_ends.py): they call
-- each other, as the schema is in use wherever they are called. A cell is the records that agree in all that the statement
-- mentions. It has a row for each value x that its records may have: w is the weight of such a row; of the cell
-- itself, records says how many they are, squares is the sum of their squared scales, units what one of them adds to the
-- noise, largest its largest scale, and sampled what sampling adds at most. attribute numbers the attribute that the statement
-- names, if it is one alone; else it is 0, and factors says what rows of the whole release count for its value of each attribute.

-- name: macros
-- One macro after the other, indented where it goes on. For tables without weights, moments and quantiles are DuckDB's own.
count_star() AS coalesce(system.main.sum(@weight@), 0)
count(x) AS coalesce(system.main.sum(CASE WHEN x IS NOT NULL THEN @weight@ END), 0)
count_if(x) AS coalesce(system.main.sum(CASE WHEN x THEN @weight@ END), 0)
sum(x) AS system.main.sum(@as_number@ * @weight@)
-- NULL where the estimated number of records is not above zero.
avg(x) AS system.main.sum(@as_number@ * @weight@) / nullif(greatest(system.main.sum(CASE WHEN x IS NOT NULL THEN @weight@ END), 0), 0)
countif(x) AS count_if(x)
mean(x) AS avg(x)
_priv_weighted() AS system.main.any_value(typeof("current_role")) = 'DOUBLE'
_priv_centred(_products, _one, _two, _records) AS @centred@
-- Sums over the pairs without NULL; those of products are of the distances from both means.
_priv_moments(y, x) AS [{n: m.n, x: m.x, y: m.y, xx: _priv_centred(m.xx, m.x, m.x, m.n), xy: _priv_centred(m.xy, m.x, m.y, m.n),
        yy: _priv_centred(m.yy, m.y, m.y, m.n)}
    FOR m IN [{n: @product@ END), x: @product@ * x END), y: @product@ * y END), xx: @product@ * x * x END), xy: @product@ * x * y END),
        yy: @product@ * y * y END)}]][1]
-- The steps to a quantile: values v in ascending order with their weights w; v and c, the sum of the weights up to each; l, the last
-- place of each value; v and c at these places; and n, the largest sum before and the smallest one after, of which neither falls, and
-- t, the sum of all weights.
_priv_ranked(x) AS system.main.list({v: x, w: @weight@} ORDER BY x ASC) FILTER (WHERE x IS NOT NULL AND typeof("current_role") = 'DOUBLE')
_priv_steps(_ranked) AS [{v: m.v, t: m.c[len(m.c)], n: list_zip(@largest@, @smallest@)}
    FOR m IN [{v: [m.v[i] FOR i IN m.l], c: [m.c[i] FOR i IN m.l]}
    FOR m IN [{v: m.v, c: m.c, l: list_filter(range(1, len(m.v) + 1), lambda i: i = len(m.v) OR m.v[i] <> m.v[i + 1])}
    FOR m IN [{v: [e.v FOR e IN m.r], c: @sums@} FOR m IN [{r: _ranked}]]]]][1]
_priv_continuous(_ranked, _share) AS @of_shares.continuous@
_priv_discrete(_ranked, _share) AS @of_shares.discrete@

-- name: weight
CASE WHEN typeof("current_role") = 'DOUBLE' THEN TRY_CAST("current_role" AS DOUBLE) ELSE 1e0 END

-- name: row
coalesce(TRY_CAST("current_user" AS @row_type@), CAST(error(@unweighed@) AS @row_type@))

-- name: product
system.main.sum(CASE WHEN y IS NOT NULL AND x IS NOT NULL THEN TRY_CAST("current_role" AS DOUBLE)

-- name: moment
CASE WHEN _priv_weighted() THEN [@formula@ FOR m IN [_priv_moments(@pair@)]][1] ELSE system.main.@aggregate@(@arguments@) END

-- name: quantile
-- The value below which a share of the records is, or a list of them for a list of shares. It is cast from a text to the type of
-- DuckDB's own aggregate.
CASE WHEN _priv_weighted() THEN list_resize([system.main.@aggregate@(@arguments@) FILTER (WHERE typeof("current_role") <> 'DOUBLE')][1:0],
    1, _priv_@kind@(_priv_ranked(x), @share@))[1] ELSE system.main.@aggregate@(@arguments@) END

-- name: scanned
-- All running sums, maxima or minima of numbers: each step is over twice as many of them.
list_reduce(list_prepend(@numbers@, [[2e0 ** j] FOR j IN range(0, CAST(ceil(log2(len(@numbers@) + 1)) AS BIGINT))]),
    lambda a, s: [@step@ FOR i IN range(1, len(a) + 1)])

-- name: sums
a[i] + coalesce(a[CASE WHEN i > s[1] THEN CAST(i - s[1] AS BIGINT) END], 0)

-- name: largest
greatest(a[i], a[CASE WHEN i > s[1] THEN CAST(i - s[1] AS BIGINT) END])

-- name: smallest
least(a[i], a[i + CAST(s[1] AS BIGINT)])

-- name: of_shares
-- The number of records up to a value is between the two sums, as far as the share is between 0 and 1 (ordinary/quantiles.sql).
[CASE WHEN starts_with(CAST(_share AS VARCHAR), '[') THEN CAST(m.f AS VARCHAR) ELSE CAST(m.f[1] AS VARCHAR) END
 FOR m IN [{f: [CASE WHEN round(m.t, 6) > 0 THEN @quantile@ END FOR m IN [
        {v: m.v, t: m.t, s: s.share, d: s.descending, n: [round(z[1] + s.share * (z[2] - z[1]), 6) FOR z IN m.n]}
        FOR s IN [{share: CASE WHEN q < 0 THEN 1 + q ELSE q END, descending: q < 0}
            FOR q IN [TRY_CAST(trim(p) AS DOUBLE) FOR p IN string_split(trim(CAST(_share AS VARCHAR), '[]'), ',')]]]]}
    FOR m IN [_priv_steps(_ranked)]]][1]

-- name: continuous
-- As far between two values as the share is between their records. The text of a value becomes a number, as dates do not.
[CASE WHEN p.a IS NULL OR p.b IS NULL THEN error(@between@) ELSE p.a + (p.b - p.a) * (p.r - floor(p.r)) END
 FOR p IN [{r: r, a: @at_floor@, b: @at_ceiling@} FOR r IN [greatest(round(m.s * (m.t - 1), 6), 0)]]][1]

-- name: at
TRY_CAST(CAST([m.v[i] FOR i IN list_filter(range(1, len(m.v) + 1), lambda i: m.n[i] > @place@)][1] AS VARCHAR) AS DOUBLE)

-- name: discrete
-- The smallest value that reaches the share; for a negative one, counted from the largest value.
CASE WHEN m.d THEN coalesce([m.v[i] FOR i IN list_filter(range(1, len(m.v) + 1), lambda i: m.n[i] > round(m.s * m.t, 6))][1], m.v[len(m.v)])
    ELSE [m.v[i] FOR i IN list_filter(range(1, len(m.v) + 1), lambda i: m.n[i] >= round(m.s * m.t, 6))][1] END

-- name: rows
-- The rows that are counted, in the order of the cells: c is what a record adds to the sum, d whether it is counted.
list({r: @row@, c: CAST(@coefficient@ AS DOUBLE), d: @counted@} ORDER BY (@row@).cell ASC, (@row@).x ASC)@filter@

-- name: set
-- The values whose rows are counted.
{rows: m.rows, set: list_sort(list_distinct([(e.r).x FOR e IN list_filter(m.rows, lambda e: e.d)]))}

-- name: chosen
-- Where weights come from the histogram of what is published, all rows are asked for: those of these values.
{rows: list_filter(m.rows, lambda e: list_contains(m.set, (e.r).x)), set: m.set}

-- name: separable
-- Whether the sum is over the records with one of these values: every cell is counted once for each of them, by the same amount.
{rows: m.rows, set: m.set, weights: [(e.r).w FOR e IN m.rows], attribute: coalesce((m.rows[1].r).attribute, 0),
 factors: (m.rows[1].r).factors, known: len(m.rows) = 0 OR (((m.rows[1].r).attribute > 0@product@)
    AND CASE WHEN len(m.set) = 1 THEN true ELSE [(e.r).x FOR e IN m.rows] = flatten([m.set FOR j IN range(len(m.rows) // len(m.set))])
        AND len(list_distinct([[{c: e.c, d: e.d, cell: (e.r).cell} FOR e IN m.rows][i : len(m.rows) : len(m.set)] FOR i IN range(1, len(m.set) + 1)])) = 1 END
    AND len(list_distinct([(e.r).cell FOR e IN m.rows])) * len(m.set) = len(m.rows))}

-- name: cells
-- What its cells are: h is what a record counts for the set of values, of whose rows the first one is read.
{rows: m.rows, set: m.set, attribute: m.attribute, factors: m.factors, known: m.known,
 cells: CASE WHEN m.known THEN [{n: (z[1].r).records, s: (z[1].r).squares, u: (z[1].r).units, a: (z[1].r).sampled,
        o: (z[1].r).largest, c: z[1].c, d: CAST(z[1].d AS DOUBLE), h: z[2]}
    FOR z IN list_zip(m.rows[1 : len(m.rows) : greatest(len(m.set), 1)], CASE WHEN len(m.set) = 1 THEN m.weights
        ELSE list_reduce([m.weights[i : len(m.weights) : len(m.set)] FOR i IN range(1, len(m.set) + 1)],
            lambda f, g: [z[1] + z[2] FOR z IN list_zip(f, g)]) END)] END}

-- name: spread
-- Of any other sum: variances of the sum and of the count, their covariance, and by how little and how much a record changes the
-- count. h and g are what the weights of the rows of a cell make of the sum and of the count; i, j and k the same of their squares
-- and of their product. A row that a join repeats adds as often. The sums of h * h - i over the records are the variances without
-- bias. The rows are read once; a last element closes the last cell.
list_reduce(list_concat(
    [{cell: (e.r).cell, x: (e.r).x, n: (e.r).records, s: (e.r).squares, a: (e.r).sampled, w: (e.r).w, c: e.c, d: CAST(e.d AS DOUBLE),
      h: (e.r).w * e.c, g: (e.r).w, i: (e.r).w * e.c ** 2, j: (e.r).w, k: (e.r).w * e.c, b: abs(e.c), @nothing@} FOR e IN list_filter(_rows, lambda e: e.d)],
    [{cell: -1, x: 0, n: 0e0, s: 0e0, a: 0e0, w: 0e0, c: 0e0, d: 0e0, h: 0e0, g: 0e0, i: 0e0, j: 0e0, k: 0e0, b: 0e0, @nothing@}]),
    lambda p, e: CASE WHEN p.cell = e.cell AND p.x = e.x THEN
        {cell: e.cell, x: e.x, n: e.n, s: e.s, a: e.a, w: e.w, c: p.c + e.c, d: p.d + e.d, h: p.h + e.h, g: p.g + e.g,
         i: p.i + e.i + 2 * e.w * p.c * e.c, j: p.j + e.j + 2 * e.w * p.d * e.d, k: p.k + e.k + e.w * (p.c * e.d + p.d * e.c), b: p.b + e.b,
         @kept@}
     WHEN p.cell = e.cell THEN
        {cell: e.cell, x: e.x, n: e.n, s: e.s, a: e.a, w: e.w, c: e.c, d: e.d, h: p.h + e.h, g: p.g + e.g,
         i: p.i + e.i, j: p.j + e.j, k: p.k + e.k, b: greatest(p.b, e.b), @kept@}
     ELSE
        {cell: e.cell, x: e.x, n: e.n, s: e.s, a: e.a, w: e.w, c: e.c, d: e.d, h: e.h, g: e.g, i: e.i, j: e.j, k: e.k, b: e.b,
         variance: p.variance + p.s * (p.h ** 2 - p.i) + p.a * p.b ** 2, of_count: p.of_count + p.s * (p.g ** 2 - p.j) + p.a,
         covariance: p.covariance + p.s * (p.h * p.g - p.k) + p.a * p.b,
         low: least(p.low, p.g), high: greatest(p.high, p.g), records: p.records + p.n} END)

-- name: nothing
variance: 0e0, of_count: 0e0, covariance: 0e0, low: 'inf'::DOUBLE, high: '-inf'::DOUBLE, records: 0e0

-- name: kept
variance: p.variance, of_count: p.of_count, covariance: p.covariance, low: p.low, high: p.high, records: p.records

-- sets: how many records have one of a set of values, each counted by a coefficient that its public columns decide (1, whether it
-- is in a group, its scale, an amount), and what is made of such sums. A sum is that over the rows of c * h, with h the weight of
-- the row for the set, the sum of W[x, y] over the values x of the set. Derivation: mechanism/comparison.md.
--
-- How a row's weight is found differs from form to form (estimator/sets.py, ordinary/sums.py); what follows from the sums does
-- not. Over s:
--
--   estimate, doubled    sum of c * h and of c ** 2 * h
--   variance             of the estimate
--   total, opposite      sum of the positive c, and of the negative ones, as a positive number
--   squares, largest     sum of c ** 2, and the largest of the absolute c
--   law                  of a count in which every record counts once: slope and the like (ordinary/intervals.sql)
--   once, sample         are how sections begin that replace others: where every record counts once, and where rows are a sample
--   share                of the records of the table that would give the same sum with equal coefficients, where weights are made
--                        from its histogram; else 0
--   beta, k, classes     the probability that a record is there, where the rows are a sample, and what may be hidden
--   z                    the quantile of the normal distribution that belongs to the confidence
--
-- Where rows differ in their scale u, squares is the sum of c ** 2 * u, and doubled that of c ** 2 * u * h: law.slope * u is what one
-- record adds to the variance there. squares_once and doubled_once have c once, plain_squares is the sum of c ** 2, and law.noisy the scale
-- of the rows that the noise comes from.

-- name: test
-- What is tested of such a sum (common.sql has what its parts mean).
{estimate: s.estimate, variance: s.variance, there: @line@, rise: @rise@, fall: @fall@, above: @above@, below: @below@,
 least: @least@, most: @most@, more: @more@, less: 0e0, z: s.z}

-- name: spread_of_one
s.law.slope * (1 - s.share * s.law.shrinkage ** 2)

-- name: typical
-- The coefficient of a typical record, of those by which the variance grows.
coalesce(s.squares / nullif(s.total + s.opposite, 0), 1)

-- name: slope
@spread_of_one@ * @typical@

-- name: there
-- The variance, and its increase if the records with the value have typical coefficients.
s.variance + greatest(@spread_of_one@
    * (@typical@ * CASE WHEN s.opposite > 0 THEN abs(s.estimate) ELSE s.estimate END - s.doubled), 0)

-- name: line
@there@

-- name: once.there
-- Where every record counts once, none is heavier than another.
s.variance

-- name: drawn
-- The same for forms with many weights. Without a bound, rows that show no heavily weighted value would seem to have no noise.
CASE WHEN s.opposite > 0 THEN greatest(@there@, @floor@)
    ELSE greatest(@there@ - @slope@ * least(greatest(s.estimate, 0), s.total), @floor@) + @slope@ * s.estimate END

-- name: once.drawn
greatest(s.variance - @slope@ * least(greatest(s.estimate, 0), s.total), @floor@) + @slope@ * s.estimate

-- name: floor
-- The variance if the sum were 0 and records were distributed as in the whole release, without one of the noisiest.
@left@ * (greatest(s.squares - s.largest ** 2, 0) * s.law.scatter + s.largest ** 2 * s.law.most_scatter)

-- name: once.floor
@left@ * (greatest(s.total - 1, 0) * s.law.scatter + s.law.most_scatter)

-- name: left
-- The part of a variance that remains if weights are made from the published histogram.
((1 - s.share * s.law.shrinkage) ** 2 + 2 * s.share * (1 - s.share) * s.law.shrinkage ** 2)

-- name: rise
-- A sum is higher if more records have the value, or fewer of the subtracted ones.
@slope@ * CASE WHEN s.opposite > 0 AND s.total <= 0 THEN -1 ELSE 1 END

-- name: fall
@slope@ * CASE WHEN s.opposite > 0 THEN 1 ELSE -1 END

-- name: slack
-- How much the standard error may be too small because records with the value are taken for typical ones.
greatest(@spread_of_one@ * (s.largest - @typical@), 0)

-- name: slack_by_row
-- The same where rows differ in how far they are perturbed: what coefficients that differ add, in rows that the noise comes from.
greatest(@spread_of_one@ * s.law.noisy * CASE WHEN s.total + s.opposite > 0
    THEN s.largest - s.plain_squares / (s.total + s.opposite) ELSE 0 END, 0)

-- name: stepped
-- Whether possible values have a step.
s.law.half_step > 0

-- name: amount.stepped
-- Sums of different amounts are dense: they have no step, and their skewness averages out.
s.law.half_step > 0 AND s.plain_squares >= s.largest * (s.total + s.opposite) * 0.999999999e0

-- name: upwards
-- Half the step of possible values or the term of Cornish and Fisher for the skewness, by that of one record, whichever is larger.
s.largest * CASE WHEN @stepped@ THEN greatest(s.law.half_step, (s.z ** 2 - 1) / 6
    * CASE WHEN s.opposite > 0 THEN greatest(s.law.upward, s.law.downward) ELSE s.law.downward END) ELSE 0 END

-- name: downwards
s.largest * CASE WHEN @stepped@ THEN greatest(s.law.half_step, (s.z ** 2 - 1) / 6
    * CASE WHEN s.opposite > 0 THEN greatest(s.law.upward, s.law.downward) ELSE s.law.upward END) ELSE 0 END

-- name: above
-- The step and the slack.
@upwards@ + s.z * @slack@

-- name: below
@downwards@ + CASE WHEN s.opposite > 0 THEN s.z * @slack@ ELSE 0 END

-- name: amount.above
-- Amounts have no slack.
@upwards@

-- name: amount.below
@downwards@

-- name: once.slope
@spread_of_one@

-- name: once.rise
@slope@

-- name: once.fall
-(@slope@)

-- name: once.above
greatest(s.law.half_step, (s.z ** 2 - 1) / 6 * s.law.downward)

-- name: once.below
greatest(s.law.half_step, (s.z ** 2 - 1) / 6 * s.law.upward)

-- name: least
0 - round(s.opposite, 6)

-- name: most
round(s.total, 6)

-- name: once.least
0e0

-- name: once.most
s.total

-- name: copied.most
-- A record that should appear 1.99 times may appear once.
s.total + s.copied

-- name: more
0e0

-- name: sample.least
-- If the rows are a sample, the sampled ones have the value.
CASE WHEN s.opposite > 0 THEN '-inf'::DOUBLE ELSE s.beta * s.estimate END

-- name: sample.most
'inf'::DOUBLE

-- name: sample.more
-- Classes with fewer than k sampled records are suppressed (sample.sql).
s.largest * (s.classes * s.k + s.z * sqrt(s.classes) * (sqrt(s.k) + 2))

-- name: from_histogram
-- The covariance of two sums where weights are made from the published histogram, which has part of its noise from the same
-- records (splu.md). With c and d the coefficients, and c_mean and d_mean their sums divided by the number of all records of the
-- table: the sums of the noise of a record times c * d, c, d and 1. Over b.
b.noise - b.d_shrinkage * b.d_mean * b.c_noise - b.c_shrinkage * b.c_mean * b.d_noise
    + b.c_shrinkage * b.c_mean * b.d_shrinkage * b.d_mean * b.every_noise
      * (1 + 2 * greatest(b.published - b.rows, 0) / greatest(b.rows, 1))

-- name: shifted
-- The sum of amounts less the least of them, from that of the amounts and from the count. Over q: both, the sums over products of
-- the coefficients of both, their covariance, and the least and the largest amount.
{estimate: q.amounts.estimate - q.least * q.count.estimate,
 doubled: q.amounts.doubled - 2 * q.least * q.products.product + q.least ** 2 * q.count.doubled,
 variance: q.amounts.variance - 2 * q.least * q.covariance + q.least ** 2 * q.count.variance,
 total: greatest(q.amounts.total - q.amounts.opposite - q.least * q.count.total, 0), opposite: 0e0,
 squares: greatest(q.amounts.squares - 2 * q.least * q.products.squares + q.least ** 2 * q.count.squares, 0),
 plain_squares: greatest(
     q.amounts.plain_squares - 2 * q.least * q.products.plain_squares + q.least ** 2 * q.count.plain_squares, 0),
 largest: (q.most - q.least) * q.count.largest, 
 share: CASE WHEN q.published IS NULL THEN 0 ELSE coalesce(least((q.amounts.total - q.amounts.opposite - q.least * q.count.total) ** 2
     / nullif(q.amounts.squares - 2 * q.least * q.products.squares + q.least ** 2 * q.count.squares, 0) / q.published, 1), 0) END,
 law: q.count.law, beta: q.count.beta, k: q.count.k, classes: q.count.classes, z: q.count.z}

-- name: other_count
-- What is tested of a count of which only the variance is known, over s: slope and step are as between the extremes of what a
-- record adds. If all records add the same, all are counted, and there is no noise.
{estimate: s.estimate, variance: s.of_other.of_count, there: s.of_other.of_count,
 rise: CASE WHEN s.of_other.high - s.of_other.low > 1e-9 THEN greatest(s.of_other.high + s.of_other.low - 1, 0) ELSE 0 END,
 fall: CASE WHEN s.of_other.high - s.of_other.low > 1e-9 THEN -greatest(s.of_other.high + s.of_other.low - 1, 0) ELSE 0 END,
 above: greatest(s.of_other.high - s.of_other.low, 0) / 2, below: greatest(s.of_other.high - s.of_other.low, 0) / 2,
 least: 0e0, most: s.of_other.records, more: 0e0, less: 0e0, z: s.z}

-- name: other_sum
-- The same of a sum.
{estimate: s.estimate, variance: s.of_other.variance, there: s.of_other.variance, rise: 0e0, fall: 0e0, above: 0e0, below: 0e0,
 least: '-inf'::DOUBLE, most: 'inf'::DOUBLE, more: 0e0, less: 0e0, z: s.z}

-- name: other_excess
-- The same of the excess over the least amount, over q: the mean of amounts that all grow by one grows by one, with both ends.
{estimate: q.amounts.estimate - q.least * q.count.estimate, variance: @of_excess@, there: @of_excess@, rise: 0e0, fall: 0e0,
 above: 0e0, below: 0e0, least: '-inf'::DOUBLE, most: 'inf'::DOUBLE, more: 0e0, less: 0e0, z: q.count.z}

-- name: of_excess
-- The variance of that sum.
q.amounts.of_other.variance - 2 * q.least * q.amounts.of_other.covariance + q.least ** 2 * q.amounts.of_other.of_count

-- name: nearest
-- The variance of u by its line at the possible value that is nearest to the estimate, and no less than the one that is estimated.
greatest(u.there + u.rise * greatest(u.least - u.estimate, 0) + u.fall * greatest(u.estimate - u.most, 0), u.variance, 0)

-- name: scale
-- The factor by which the standard error of u is enlarged.
CASE WHEN u.variance > 0 THEN sqrt(@nearest@ / u.variance) ELSE 0 END

-- name: together
-- What a covariance adds to the variance of a combination, over w. The estimated covariance is bounded by the estimated variances. It is
-- enlarged like these if it makes the combination less certain, and only then: in few rows it is mostly noise. Two sums over records that
-- have no value in common make their difference less certain. Where they seem to make it more certain, it is noise, and relief is 0.
greatest(least(w.added, w.bound) * CASE WHEN w.added > 0 THEN w.enlarged ELSE 1 END, -w.relief)

-- name: combination.parts
-- A linear combination is a sum itself. Over p: factors, and what is tested of each part; pairs of parts, i and j, with their
-- covariance; and a constant.
{pairs: p.pairs, constant: p.constant,
 q: [{f: p.factors[k], u: u, nearest: @nearest@, scale: @scale@,
      rise: CASE WHEN p.factors[k] > 0 THEN p.factors[k] * u.rise ELSE -p.factors[k] * u.fall END,
      fall: CASE WHEN p.factors[k] > 0 THEN p.factors[k] * u.fall ELSE -p.factors[k] * u.rise END}
     FOR u, k IN p.parts]}

-- name: combination.pairs
-- Over c.
{constant: c.constant, q: c.q, pairs: [{added: r.f * r.covariance, bound: abs(r.f) * r.most, enlarged: r.enlarged,
         relief: CASE WHEN r.overlap OR r.f > 0 THEN abs(r.f) * r.most ELSE 0 END}
     FOR r IN [{f: 2 * c.q[r.i].f * c.q[r.j].f, covariance: r.covariance, overlap: r.overlap, enlarged: c.q[r.i].scale * c.q[r.j].scale,
             most: sqrt(greatest(c.q[r.i].u.variance, 0) * greatest(c.q[r.j].u.variance, 0))} FOR r IN c.pairs]]}

-- name: combination.there
-- Over d.
{constant: d.constant, q: d.q, apart: list_sum([t.f ** 2 * t.nearest FOR t IN d.q]),
 variance: list_sum([t.f ** 2 * t.u.variance FOR t IN d.q]) + coalesce(list_sum([w.added FOR w IN d.pairs]), 0),
 there: CASE WHEN len(d.q) = 1 THEN d.q[1].f ** 2 * d.q[1].u.there ELSE list_sum([t.f ** 2 * t.nearest FOR t IN d.q])
     + coalesce(list_sum([@together@ FOR w IN d.pairs]), 0) END}

-- name: combination.steps
-- Over e. Parts whose noise cancels have no steps.
{constant: e.constant, q: e.q, apart: e.apart, variance: e.variance, there: e.there,
 steps: CASE WHEN len(e.q) > 1 AND e.there <= 1e-12 * e.apart THEN 0 ELSE 1 END}

-- name: combination.tested
-- What is tested, over h. An estimate that is off is so by each part in proportion to its variance, and so the variance grows; that
-- it shrinks is not taken for sure.
{estimate: CASE WHEN list_count([t.f * t.u.estimate FOR t IN h.q]) = len(h.q)
      THEN h.constant + list_sum([t.f * t.u.estimate FOR t IN h.q]) END,
  variance: h.variance, there: h.there,
  rise: CASE WHEN len(h.q) = 1 THEN h.q[1].rise WHEN h.steps > 0
      THEN greatest(list_sum([t.f ** 2 * t.nearest * t.rise FOR t IN h.q]) / h.apart, 0) ELSE 0 END,
  fall: CASE WHEN len(h.q) = 1 THEN h.q[1].fall WHEN h.steps > 0
      THEN greatest(list_sum([t.f ** 2 * t.nearest * t.fall FOR t IN h.q]) / h.apart, 0) ELSE 0 END,
  above: h.steps * list_max([CASE WHEN t.f > 0 THEN t.f * t.u.above ELSE -t.f * t.u.below END FOR t IN h.q]),
  below: h.steps * list_max([CASE WHEN t.f > 0 THEN t.f * t.u.below ELSE -t.f * t.u.above END FOR t IN h.q]),
  least: h.constant + list_sum([CASE WHEN t.f > 0 THEN t.f * t.u.least ELSE t.f * t.u.most END FOR t IN h.q]),
  most: h.constant + list_sum([CASE WHEN t.f > 0 THEN t.f * t.u.most ELSE t.f * t.u.least END FOR t IN h.q]),
  more: list_sum([CASE WHEN t.f > 0 THEN t.f * t.u.more ELSE -t.f * t.u.less END FOR t IN h.q]),
  less: list_sum([CASE WHEN t.f > 0 THEN t.f * t.u.less ELSE -t.f * t.u.more END FOR t IN h.q]),
  z: h.q[1].u.z}

-- name: apart.parts
-- The difference of two sums is a linear combination, too. Over p: a list of what is tested of both, and their covariance.
{a: p.tests[1], b: p.tests[2], covariance: p.covariance, overlap: p.overlap, n: [@nearest@ FOR u IN p.tests],
 bound: 2 * sqrt(greatest(p.tests[1].variance, 0) * greatest(p.tests[2].variance, 0))}

-- name: apart.pair
-- Over c.
{a: c.a, b: c.b, n: c.n, added: -2 * c.covariance, bound: c.bound, relief: CASE WHEN c.overlap THEN c.bound ELSE 0 END,
 enlarged: CASE WHEN c.a.variance > 0 AND c.b.variance > 0 THEN sqrt(c.n[1] / c.a.variance * (c.n[2] / c.b.variance)) ELSE 0 END}

-- name: apart.together
-- Over w.
{a: w.a, b: w.b, n: w.n, variance: w.a.variance + w.b.variance + w.added, apart: w.n[1] + w.n[2], there: w.n[1] + w.n[2] + @together@}

-- name: apart.steps
-- Over e.
{a: e.a, b: e.b, n: e.n, apart: e.apart, variance: e.variance, there: e.there, steps: CASE WHEN e.there <= 1e-12 * e.apart THEN 0 ELSE 1 END}

-- name: apart.tested
-- Over h.
{estimate: h.a.estimate - h.b.estimate, variance: h.variance, there: h.there,
 rise: CASE WHEN h.steps > 0 THEN greatest((h.n[1] * h.a.rise + h.n[2] * h.b.fall) / h.apart, 0) ELSE 0 END,
 fall: CASE WHEN h.steps > 0 THEN greatest((h.n[1] * h.a.fall + h.n[2] * h.b.rise) / h.apart, 0) ELSE 0 END,
 above: h.steps * greatest(h.a.above, h.b.below), below: h.steps * greatest(h.a.below, h.b.above),
 least: h.a.least - h.b.most, most: h.a.most - h.b.least, more: h.a.more + h.b.less, less: h.a.less + h.b.more, z: h.a.z}

-- name: times
-- What is tested of a sum u times a positive factor f. Over x.
{estimate: x.f * x.u.estimate, variance: x.f ** 2 * x.u.variance, there: x.f ** 2 * x.u.there, rise: x.f * x.u.rise, fall: x.f * x.u.fall,
 above: x.f * x.u.above, below: x.f * x.u.below, least: x.f * x.u.least, most: x.f * x.u.most, more: x.f * x.u.more,
 less: x.f * x.u.less, z: x.u.z}

-- name: reach
-- How far from its estimate a value of u may be, on either side: the middle, and the square of what noise adds.
{high: k.estimate + k.rise + k.more, high_noise: k.noise + k.rise ** 2, low: k.estimate - k.fall - k.less, low_noise: k.noise + k.fall ** 2,
 spread: k.spread, noise: k.noise, scale: CASE WHEN k.spread > 0 THEN sqrt(k.noise / k.spread) ELSE 0 END}

-- name: quotient.reaches
-- A quotient t of a and b is accepted where the functional a - t * b accepts 0 (Fieller 1954, with the variances of the test).
-- Over p: a, b, their covariance, between what the quotient lies, and factor and constant of what is answered.
{p: p, o: [@reach@ FOR k IN [{estimate: u.estimate, more: u.more, less: u.less, spread: u.z ** 2 * greatest(u.variance, 0), noise: u.z ** 2 * @nearest@,
      rise: u.z ** 2 * greatest(u.rise, 0) / 2, fall: u.z ** 2 * greatest(u.fall, 0) / 2} FOR u IN [p.a, p.b]]]}

-- name: quotient.crossed
-- Over g. What the covariance adds to the variance of a - t * b for t = 1.
{p: g.p, o: g.o, added: -(g.p.a.z ** 2 * g.p.covariance), bound: sqrt(g.o[1].spread * g.o[2].spread),
 relief: CASE WHEN g.p.overlap THEN sqrt(g.o[1].spread * g.o[2].spread) ELSE 0 END, enlarged: g.o[1].scale * g.o[2].scale}

-- name: quotient.correlated
-- The same of two sums over records with the same values, whose noise is the same: they keep the estimated correlation.
{p: g.p, o: g.o, added: -(g.p.a.z ** 2 * g.p.covariance * g.o[1].scale * g.o[2].scale), bound: sqrt(g.o[1].noise * g.o[2].noise),
 relief: sqrt(g.o[1].noise * g.o[2].noise), enlarged: 1e0}

-- name: quotient.sides
-- Over w. A higher quotient than the estimate is one where a is higher or b is lower, with the variance that a would have then; a lower
-- one is one where a is lower or b is higher. Each end is a root of (n - t d) ** 2 = v - 2 t c + t ** 2 w, with d the upper reach of b
-- if a is beyond 0 on that side, so that the quotient is, too, and else the lower one. A side is -1 or 1, and zero is n ** 2 - v.
{p: w.p, b: w.o[2], open: w.o[2].low ** 2 - w.o[2].low_noise, crossed: -(@together@),
 sides: [{side: -1, n: w.o[1].low, zero: w.o[1].low ** 2 - w.o[1].low_noise},
     {side: 1, n: w.o[1].high, zero: w.o[1].high ** 2 - w.o[1].high_noise}]}

-- name: quotient.roots
-- Over h.
{p: h.p, closed: h.b.low > 0 AND h.open > 0,
 sides: [{side: k.side, zero: k.zero, open: k.open, beyond: k.beyond, middle: k.middle, root: sqrt(greatest(k.middle ** 2 - k.open * k.zero, 0))}
     FOR k IN [{side: k.side, zero: k.zero, beyond: k.beyond,
             open: CASE WHEN k.beyond THEN h.b.high ** 2 - h.b.high_noise ELSE h.open END,
             middle: k.n * CASE WHEN k.beyond THEN h.b.high ELSE h.b.low END - h.crossed}
         FOR k IN [{side: k.side, n: k.n, zero: k.zero,
                 beyond: coalesce(k.side * k.n < 0 AND k.zero > 0 AND (h.p.b.least >= 0 OR h.open > 0), false)} FOR k IN h.sides]]]}

-- name: quotient.ends
-- Over i. Where b may be 0, the quotient has no upper end and no standard error; where a or b may be negative, no end at all.
-- Quotients are dense: there is no step between them. So where no possible quotient is accepted, all are possible.
{p: i.p, closed: i.closed, quotient: CASE WHEN i.p.b.estimate > 0 THEN i.p.a.estimate / i.p.b.estimate END,
 ends: [CASE WHEN k.side > 0 AND k.t <= i.p.least THEN i.p.most WHEN k.side < 0 AND k.t >= i.p.most THEN i.p.least
     ELSE least(greatest(k.t, i.p.least), i.p.most) END
     FOR k IN [{side: k.side, t: CASE WHEN k.beyond THEN k.zero / (k.middle - k.side * k.root)
         WHEN i.closed THEN (k.middle + k.side * k.root) / k.open ELSE k.side * 'inf'::DOUBLE END} FOR k IN i.sides]]}

-- name: quotient.interval
-- The interval, over e.
{estimate: e.p.constant + e.p.factor * e.quotient,
 stderr: CASE WHEN e.closed AND e.quotient IS NOT NULL THEN abs(e.p.factor) / e.p.b.estimate * sqrt(greatest(
     e.p.a.variance - 2 * e.quotient * e.p.covariance + e.quotient ** 2 * e.p.b.variance, 0)) END,
 low: e.p.constant + e.p.factor * CASE WHEN e.p.factor > 0 THEN e.ends[1] ELSE e.ends[2] END,
 high: e.p.constant + e.p.factor * CASE WHEN e.p.factor > 0 THEN e.ends[2] ELSE e.ends[1] END}

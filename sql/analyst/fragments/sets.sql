-- sets: how many records have one of a set of values, each counted by a coefficient that its public columns decide (1, whether it
-- is in a group, its scale, an amount), and what is made of one or two such sums. A sum is that over the rows of c * h, with h the
-- weight of the row for the set, the sum of W[x, y] over the values x of the set. Derivation: mechanism/comparison.md.
--
-- How a row's weight is found differs from form to form (analyst/sets.py); what follows from the sums does not. Records with
-- coefficients are here what records with a scale are to the form scaled, on whose sections these build. Over s:
--
--   estimate, doubled    sum of c * h and of c ** 2 * h
--   variance             of the estimate
--   total, squares       sum of c and of c ** 2
--   largest              the largest c
--   law                  of a count in which every record counts once: slope and the like (ordinary/intervals.sql)
--   once, sample         are how sections begin that take the place of others: where every record counts once, and where rows
--                        are a sample
--   published, share     how many records the table has, where weights are made from its histogram, and which share of them
--                        would give the same sum with equal coefficients; else NULL and 0
--   beta                 the probability that a record is there, where the rows are a sample
--   per                  what the sum is divided by
--   z                    the quantile of the normal distribution that belongs to the confidence
--
-- Where rows differ in their scale u, squares is the sum of c ** 2 * u, and doubled that of c ** 2 * u * h: law.slope * u is what one
-- record adds to the variance there. squares_once and doubled_once have c once, plain_squares is the sum of c ** 2, and law.noisy the scale
-- of the rows that the noise comes from.

-- name: moments
{estimate: @centre@, variance: @spread@, zero: @zero@, slope: @slope@, half_step: @half_step@, slack: @slack@,
 upward: @upward@, downward: @downward@, certain: @certain@, hidden: 0e0, hidden_spread: 0e0, total: @total@,
 z: s.z, n: s.per}

-- name: estimate
s.estimate

-- name: variance
s.variance

-- name: spread_of_one
s.law.slope * (1 - s.share * s.law.shrinkage ** 2)

-- name: half_step
s.largest * s.law.half_step

-- name: excess
@spread_of_one@ * greatest(@typical@ * s.estimate - s.doubled, 0)

-- name: once.zero
-- Where every record counts once, none is heavier than another.
s.variance - @slope@ * s.estimate

-- name: once.zero_of_drawn
greatest(s.variance - @slope@ * least(greatest(s.estimate, 0), @total@),
    ((1 - s.share * s.law.shrinkage) ** 2 + 2 * s.share * (1 - s.share) * s.law.shrinkage ** 2)
    * (greatest(s.total - 1, 0) * s.law.scatter + s.law.most_scatter))

-- name: once.slope
@spread_of_one@

-- name: once.slack
0e0

-- name: once.half_step
s.law.half_step

-- name: once.upward
s.law.upward

-- name: once.downward
s.law.downward

-- name: zero_of_drawn
-- The variance if the sum were 0, where a row's weight is one of many: rows that show none of those that scatter most seem to
-- have no noise.
greatest(s.variance + @excess@ - @slope@ * least(greatest(s.estimate, 0), @total@),
    ((1 - s.share * s.law.shrinkage) ** 2 + 2 * s.share * (1 - s.share) * s.law.shrinkage ** 2)
    * (greatest(s.squares - s.largest ** 2, 0) * s.law.scatter + s.largest ** 2 * s.law.most_scatter))

-- name: slack_by_row
-- Where rows differ in how far they are perturbed: what coefficients that differ add, in rows that the noise comes from.
@spread_of_one@ * s.law.noisy * CASE WHEN s.total > 0 THEN s.largest - s.plain_squares / s.total ELSE 0 END

-- name: upward
s.largest * s.law.upward

-- name: downward
s.largest * s.law.downward

-- name: certain
0e0

-- name: total
round(s.total, 6)

-- name: once.total
s.total

-- name: sample.certain
-- Where the rows are a sample, those that are there have the value.
s.beta * s.estimate

-- name: sample.total
'inf'::DOUBLE

-- name: from_histogram
-- The covariance of two sums where weights are made from the published histogram, which has part of its noise from the same
-- records (splu.md). With c and d the coefficients, and c_mean and d_mean their sums divided by the number of all records of the
-- table: the sums of the noise of a record times c * d, c, d and 1. Over b.
b.noise - b.d_shrinkage * b.d_mean * b.c_noise - b.c_shrinkage * b.c_mean * b.d_noise
    + b.c_shrinkage * b.c_mean * b.d_shrinkage * b.d_mean * b.every_noise
      * (1 + 2 * greatest(b.published - b.rows, 0) / greatest(b.rows, 1))

-- name: shifted
-- The sum of amounts less the least of them, from that of the amounts and from the count. Over q: amounts and count, the
-- covariance of the two, and the least amount.
{estimate: q.amounts.estimate - q.least * q.count.estimate,
 doubled: q.amounts.doubled - 2 * q.least * q.amounts.estimate + q.least ** 2 * q.count.estimate,
 variance: q.amounts.variance - 2 * q.least * q.covariance + q.least ** 2 * q.count.variance,
 total: greatest(q.amounts.total - q.least * q.count.total, 0),
 squares: greatest(q.amounts.squares - 2 * q.least * q.amounts.total + q.least ** 2 * q.count.total, 0),
 largest: q.amounts.largest - q.least, law: q.count.law, published: q.count.published,
 share: CASE WHEN q.count.published IS NULL THEN 0 ELSE coalesce(least((q.amounts.total - q.least * q.count.total) ** 2
     / nullif(q.amounts.squares - 2 * q.least * q.amounts.total + q.least ** 2 * q.count.total, 0) / q.count.published, 1), 0) END,
 beta: q.count.beta, per: 1e0, z: q.count.z}

-- name: shifted_by_row
-- The same where rows differ in their scale: what is squared stands with it.
{estimate: q.amounts.estimate - q.least * q.count.estimate,
 doubled: q.amounts.doubled - 2 * q.least * q.amounts.doubled_once + q.least ** 2 * q.count.doubled,
 variance: q.amounts.variance - 2 * q.least * q.covariance + q.least ** 2 * q.count.variance,
 total: greatest(q.amounts.total - q.least * q.count.total, 0),
 plain_squares: greatest(q.amounts.plain_squares - 2 * q.least * q.amounts.total + q.least ** 2 * q.count.total, 0),
 squares: greatest(q.amounts.squares - 2 * q.least * q.amounts.squares_once + q.least ** 2 * q.count.squares, 0),
 largest: q.amounts.largest - q.least, law: q.count.law, published: q.count.published, share: q.count.share,
 beta: q.count.beta, per: 1e0, z: q.count.z}

-- name: reach
-- How far a sum may lie below and above its estimate. Where its interval is cut at what is possible, that says too little of
-- the other of two sums: then it is z standard errors and the continuity correction.
-- Over i, the moments, of which n is what the sum is to be divided by, and r, their interval.
{estimate: i.estimate / i.n, variance: i.variance / i.n ** 2,
 below: CASE WHEN r.low > i.certain THEN i.estimate - r.low
     ELSE greatest(i.estimate - r.low, i.z * r.stderr + i.half_step) END / i.n,
 above: CASE WHEN r.high < i.total THEN r.high - i.estimate
     ELSE greatest(r.high - i.estimate, i.z * r.stderr + i.half_step) END / i.n}

-- name: correlation
CASE WHEN p.a.variance > 0 AND p.b.variance > 0
    THEN least(greatest(p.covariance / sqrt(p.a.variance * p.b.variance), -1), 1) ELSE 0 END

-- name: difference
-- The interval of a difference from those of its parts (Zou and Donner 2008, MOVER, with correlation): each reaches as far as
-- its interval does on the side that matters. Over p: the sums a and b, their covariance, least and most.
[{estimate: e.estimate,
  stderr: CASE WHEN e.estimate IS NOT NULL THEN sqrt(greatest(p.a.variance + p.b.variance - 2 * p.covariance, 0)) END,
  low: least(greatest(e.estimate - sqrt(greatest(
      p.a.below ** 2 + p.b.above ** 2 - 2 * e.correlation * p.a.below * p.b.above, 0)), p.least), p.most),
  high: greatest(least(e.estimate + sqrt(greatest(
      p.a.above ** 2 + p.b.below ** 2 - 2 * e.correlation * p.a.above * p.b.below, 0)), p.most), p.least)}
 FOR e IN [{estimate: p.a.estimate - p.b.estimate, correlation: @correlation@}]][1]

-- name: ratio
-- The interval of a ratio in the same way (Donner and Zou 2012): the quotients t for which a - t b is no further from 0 than the
-- intervals of a and b reach. Where b may be 0 it has no upper end but p.most, and where b is estimated as 0 or less, there is
-- no estimate.
[{estimate: e.ratio,
  stderr: CASE WHEN e.ratio IS NOT NULL THEN sqrt(greatest(
      p.a.variance - 2 * e.ratio * p.covariance + e.ratio ** 2 * p.b.variance, 0)) / p.b.estimate END,
  low: CASE WHEN p.a.estimate > p.a.below AND e.lower + sqrt(greatest(e.lower ** 2 - e.lowest * e.least, 0)) > 0
      THEN least(e.least / (e.lower + sqrt(greatest(e.lower ** 2 - e.lowest * e.least, 0))), p.most) ELSE 0e0 END,
  high: CASE WHEN p.b.estimate > p.b.below
      THEN least(greatest((e.upper + sqrt(greatest(e.upper ** 2 - e.highest * e.most, 0))) / e.highest, 0), p.most)
      ELSE p.most END}
 FOR e IN [{ratio: CASE WHEN p.b.estimate > 0 THEN p.a.estimate / p.b.estimate END,
    lowest: p.b.estimate ** 2 - p.b.above ** 2, least: p.a.estimate ** 2 - p.a.below ** 2,
    lower: p.a.estimate * p.b.estimate - @correlation@ * p.a.below * p.b.above,
    highest: p.b.estimate ** 2 - p.b.below ** 2, most: p.a.estimate ** 2 - p.a.above ** 2,
    upper: p.a.estimate * p.b.estimate - @correlation@ * p.a.above * p.b.below}]][1]

-- name: interval_per
-- An interval divided by a number that is known. Over v, the interval r and the number n.
{estimate: v.r.estimate / v.n, stderr: v.r.stderr / v.n, low: v.r.low / v.n, high: v.r.high / v.n}

-- name: moved
-- An interval r moved by a number n, over v.
{estimate: v.r.estimate + v.n, stderr: v.r.stderr, low: v.r.low + v.n, high: v.r.high + v.n}

-- intervals: the laws of sets of values in ordinary SQL, over structs. The interval is that of all estimates: the functional is in
-- analyst/fragments/sets.sql, and the test in analyst/estimators/common.sql.

-- name: kept
-- The part of a variance that remains if weights are made from the published histogram (mechanism/splu.md).
((1 - m.share * m.k) ** 2 + 2 * m.share * (1 - m.share) * m.k ** 2)

-- name: law
-- The law of a set of values, over k: what a report of one of the set counts for it on average, k.inside, and another one,
-- k.outside. Their difference is how far one report moves a count; from both follow the two probabilities with which a
-- record reports one of the set. What the catalog says of a single value, k.known, comes before it.
[{slope: coalesce(l.slope, l.step * (1 - 2 * l.other) - 1, 0), half_step: coalesce(l.half_step, l.step / 2, 0),
  spread: coalesce(l.step * (1 - 2 * l.other) - 1, 0), scatter: coalesce(l.scatter, l.step ** 2 * l.other * (1 - l.other), 0),
  most_scatter: coalesce(l.most_scatter, l.step ** 2 * l.other * (1 - l.other), 0),
  upward: coalesce(l.upward, l.step * (1 - 2 * l.other), 0), downward: coalesce(l.downward, 2 - l.step * (1 - 2 * l.other), 0),
  shrinkage: coalesce(l.shrinkage, 1 - 1 / l.step, 0)}
 FOR l IN [{step: k.inside - k.outside, other: -k.outside / (k.inside - k.outside), slope: k.known.slope, half_step: k.known.half_step,
    scatter: k.known.scatter, most_scatter: k.known.most_scatter, upward: k.known.upward, downward: k.known.downward,
    shrinkage: k.known.shrinkage}]][1]

-- name: law_of_blocks
-- The same where records report blocks of values. Over k: what each block counts, k.h, how many values the set has, k.size, how
-- many blocks there are and hold a value, k.blocks and k.held, of base blocks as many as k.stride, and the two probabilities
-- of a single value, k.own and k.other. Of h the mean of the square and of the third power are taken under the law of a record
-- that has one of the set, and of one that has another value, on average over the values of the design: q.inside and
-- q.outside are the probabilities of each block. No record has one of a set of no value.
[{slope: l.spread - 1 - l.scatter, half_step: CASE WHEN k.size > 0 THEN 0.5 / (k.own - k.other) ELSE 0 END, spread: l.spread - 1 - l.scatter,
  scatter: l.scatter, most_scatter: l.scatter, upward: coalesce(l.third / nullif(l.scatter, 0), 0),
  downward: coalesce(-l.lean / nullif(l.spread - 1, 0), 0), shrinkage: 0e0}
 FOR l IN [
    [{spread: list_sum([p.inside * p.h ** 2 FOR p IN q]), lean: list_sum([p.inside * (p.h - 1) ** 3 FOR p IN q]),
      scatter: list_sum([p.outside * p.h ** 2 FOR p IN q]), third: list_sum([p.outside * p.h ** 3 FOR p IN q])}
     FOR q IN [
        [[{h: h, inside: b.free + b.more * (h * (k.own - k.other) + k.size * k.other) / greatest(k.size, 1),
           outside: b.free + coalesce(b.more * (k.held / k.stride - h * (k.own - k.other) - k.size * k.other)
               / nullif(k.blocks / k.stride - k.size, 0), 0)} FOR h IN k.h]
         FOR b IN [{free: (1 - k.own) / (k.blocks - k.held),
             more: k.own / k.held - (1 - k.own) / (k.blocks - k.held)}]][1]]][1]]][1]

-- name: law_of_product
-- The law of a set of combinations of values of several attributes. Over k.factors: for each attribute, the most and the least that a
-- record counts for its values of the set, and mean and mean square of what it would count if it showed each value as often as the release
-- does. The set has every combination of these values; of any other set, there is one factor for all attributes together. What a record
-- counts is between both ends, and 1 on average if it is one of the set and 0 if it is not: so its variance is at most
-- (most - 1) * (1 - least), and -most * least (Bhatia and Davis 2000). In the set, its mean square is the product of those of the attributes.
-- The variance of the other records of the release is what the records of the set leave, at most.
[{slope: greatest(l.inside - l.outside, 0), half_step: coalesce((l.most - l.least) / 2, 0), spread: greatest(l.inside - l.outside, 0), scatter: l.outside,
  most_scatter: l.outside, upward: greatest(l.most, 0), downward: greatest(1 - l.least, 0), shrinkage: 0e0}
 FOR l IN [
    {most: b.most, least: b.least, inside: b.inside,
     outside: coalesce(least(greatest((b.every - b.share * b.inside) / nullif(1 - b.share, 0), 0), greatest(-b.most * b.least, 0)), 0)}
    FOR b IN [
        {most: p.most, least: p.least, inside: p.inside - 1, every: greatest(p.square - p.mean, 0), share: least(greatest(p.mean, 0), 1)}
        FOR p IN [list_reduce([{most: f.most, least: f.least, mean: f.mean, square: f.square,
                inside: 1 + greatest((f.most - 1) * (1 - f.least), 0)} FOR f IN k.factors],
            lambda p, q: {most: greatest(p.most * q.most, p.most * q.least, p.least * q.most, p.least * q.least),
                least: least(p.most * q.most, p.most * q.least, p.least * q.most, p.least * q.least),
                mean: p.mean * q.mean, square: p.square * q.square, inside: p.inside * q.inside})]]]][1]

-- name: inflation
-- The factor by which copying enlarges a record's part of the variance.
CASE WHEN @scale@ > 1 THEN @scale@ + 0.25 / @scale@ ELSE 1 END

-- name: windowed
-- What is tested of a window over sums: that of one of its summands, u, with the window's own variance. Over w.
{estimate: w.estimate, variance: w.variance, there: w.variance, rise: w.u.rise, fall: w.u.fall, above: w.u.above, below: w.u.below,
 least: w.u.least, most: 'inf'::DOUBLE, more: w.u.more, less: w.u.less, z: w.u.z}

-- name: moved
-- An interval r times a factor f, over v.
{stderr: abs(v.f) * v.r.stderr, low: least(v.f * v.r.low, v.f * v.r.high), high: greatest(v.f * v.r.low, v.f * v.r.high)}

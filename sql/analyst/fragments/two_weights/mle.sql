-- The frequencies max(0, (scale * observed - other) / gap) that sum to one (Karush-Kuhn-Tucker). Newton's
-- method for the scale on a convex, piecewise linear function: every step at least halves the
-- residual or the number of records in play, so 64 steps end beyond double precision.
[CASE WHEN s.total = 0 THEN 0e0 ELSE s.total * greatest(0, (list_reduce(
        list_prepend(1e0, [0e0 FOR step IN range(64)]),
        lambda scale, step: (@gap@ + @other@ * len([o FOR o IN s.observed IF o * scale > @other@]))
            / list_sum([o FOR o IN s.observed IF o * scale > @other@])
    ) * s.shown / s.total - @other@) / @gap@) END
 FOR s IN [{
    total: t.total, shown: t.shown, observed: [c / t.total FOR c IN t.counts]
 } FOR t IN [{
    total: count(*)::DOUBLE, shown: coalesce(count_if(@match@), 0)::DOUBLE,
    counts: list_append(map_values(histogram(_column)), coalesce(count_if(_column IS NULL), 0)::UBIGINT)::DOUBLE[]
 }]]][1]

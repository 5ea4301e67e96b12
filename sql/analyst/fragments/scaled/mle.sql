-- As for unscaled records (two_weights), from the scaled counts of the values.
[CASE WHEN s.total = 0 THEN 0e0 ELSE s.total * greatest(0, (list_reduce(
        list_prepend(1e0, [0e0 FOR step IN range(64)]),
        lambda scale, step: (@gap@ + @other@ * len([o FOR o IN s.observed IF o * scale > @other@]))
            / list_sum([o FOR o IN s.observed IF o * scale > @other@])
    ) * s.shown / s.total - @other@) / @gap@) END
 FOR s IN [{
    total: t.total, shown: t.shown,
    observed: [coalesce(list_sum([e.key.w * e.value FOR e IN t.entries IF e.key.v IS NOT DISTINCT FROM y]), 0) / t.total
               FOR y IN list_append(@texts@, NULL)]
 } FOR t IN [{
    total: coalesce(sum(weight::DOUBLE), 0), shown: coalesce(sum(weight::DOUBLE) FILTER (@match@), 0),
    entries: map_entries(histogram({v: CAST(@column@ AS VARCHAR), w: weight::DOUBLE}))
 }]]][1]

-- The sum of the squared weights of the rows, minus the estimate, less what the histogram has in common with them.
[@kept_variance@ * (coalesce(list_sum([[(weight * weight - weight) * e.value FOR weight IN [list_extract(s.weights, list_position(s.texts, CAST(e.key AS VARCHAR)))]][1]
        FOR e IN s.shown]), 0e0)
    + s.missing * (list_extract(s.weights, @size@) ** 2 - list_extract(s.weights, @size@)))
 FOR s IN [{total: count(*), rows: @rows@, k: 1 - @own@ + @other@, weights: @row@, texts: @texts@, shown: map_entries(histogram(@column@)), missing: @missing@}]][1]

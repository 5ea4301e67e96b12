-- The sum of the squared weights of the rows, minus the estimate: unbiased for the variance.
coalesce(list_sum([list_extract([w * w - w FOR w IN @row@], list_position(@texts@, CAST(e.key AS VARCHAR))) * e.value
    FOR e IN map_entries(histogram(@column@))]), 0e0)
    + @missing@ * list_extract([w * w - w FOR w IN @row@], @size@)

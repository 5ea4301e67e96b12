-- The sum of W[value, shown] over the rows, from their histogram.
coalesce(list_sum([list_extract(@row@, list_position(@texts@, CAST(e.key AS VARCHAR))) * e.value
    FOR e IN map_entries(histogram(@column@))]), 0e0) + @missing@ * list_extract(@row@, @size@)

-- The sum of the squared weights of the rows, minus the estimate, less what the histogram has in common with them.
[@kept_variance@ * s.squares FOR s IN [{total: count(*), rows: @rows@, k: 1 - @own@ + @other@,
    squares: coalesce(sum(list_extract([w * w - w FOR w IN @row@], @shown_position@)), 0e0)}]][1]

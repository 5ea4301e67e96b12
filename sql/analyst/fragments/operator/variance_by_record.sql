-- The sum of the squared weights of the rows, minus the estimate: unbiased for the variance.
coalesce(sum(list_extract([w * w - w FOR w IN @row@], @shown_position@)), 0e0)

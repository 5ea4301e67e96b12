-- Sum over the rows of their squared weights, minus the estimate: unbiased for the variance.
(coalesce(count_if(@match@), 0) * (1 - @other@) ** 2 + (count(*) - coalesce(count_if(@match@), 0)) * @other@ ** 2) / @gap@ ** 2
    - (coalesce(count_if(@match@), 0) - @other@ * count(*)) / @gap@

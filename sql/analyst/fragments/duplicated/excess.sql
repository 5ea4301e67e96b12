-- How much larger the variance is because the value is shown in records with more copies than usual, where it is.
(1 - @own@ - @other@) / @gap@ ** 2 * greatest(
    coalesce(avg(@inflation@), 1) * (coalesce(count_if(@match@), 0) - @other@ * count(*))
    - (coalesce(sum(@inflation@) FILTER (@match@), 0) - @other@ * coalesce(sum(@inflation@), 0)), 0)

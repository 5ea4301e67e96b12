-- How much larger the variance is because the value is shown in heavier rows than usual, where it is.
(1 - @own@ - @other@) / @gap@ ** 2 * greatest(
    coalesce(sum(weight::DOUBLE ** 2) / sum(weight::DOUBLE), 1)
        * (coalesce(sum(weight::DOUBLE) FILTER (@match@), 0) - @other@ * coalesce(sum(weight::DOUBLE), 0))
    - (coalesce(sum(weight::DOUBLE ** 2) FILTER (@match@), 0) - @other@ * coalesce(sum(weight::DOUBLE ** 2), 0)), 0)

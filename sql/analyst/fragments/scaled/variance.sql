-- What the perturbation gives, unbiased, plus the most that sampling can add: a quarter of a squared weight per group.
((1 - @own@) * (1 - @other@) * coalesce(sum(weight::DOUBLE ** 2) FILTER (@match@), 0)
    + @own@ * @other@ * (coalesce(sum(weight::DOUBLE ** 2), 0) - coalesce(sum(weight::DOUBLE ** 2) FILTER (@match@), 0))) / @gap@ ** 2
    + coalesce(sum(weight::DOUBLE ** 2) FILTER (weight > 1), 0) / (4 * @sample_size@)

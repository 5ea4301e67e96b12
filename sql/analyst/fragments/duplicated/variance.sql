-- What perturbing a sample and duplicating its records gives at most, with scale as a bound on the copies of a record.
((1 - @own@) * (1 - @other@) * coalesce(sum(@inflation@) FILTER (@match@), 0)
    + @own@ * @other@ * (coalesce(sum(@inflation@), 0) - coalesce(sum(@inflation@) FILTER (@match@), 0))) / @gap@ ** 2
    + greatest(coalesce(sum(1 / weight::DOUBLE) FILTER (weight > 1 AND @match@), 0)
        - @other@ * coalesce(sum(1 / weight::DOUBLE) FILTER (weight > 1), 0), 0) / (4 * @gap@)
    + coalesce(sum(weight::DOUBLE) FILTER (weight > 1), 0) / (4 * @sample_size@)

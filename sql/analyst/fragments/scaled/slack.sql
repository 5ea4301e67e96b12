-- How much the standard error may be too small because the excess was underestimated.
(1 - @own@ - @other@) / @gap@ * (coalesce(max(weight::DOUBLE), 1) - coalesce(sum(weight::DOUBLE ** 2) / sum(weight::DOUBLE), 1))

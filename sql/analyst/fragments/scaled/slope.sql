-- How much the variance grows when one more of the records truly has the value, at the weight of a typical record.
(1 - @own@ - @other@) / @gap@ * coalesce(sum(weight::DOUBLE ** 2) / sum(weight::DOUBLE), 1)

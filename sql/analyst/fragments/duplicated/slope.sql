-- How much the variance grows when one more of the records truly has the value.
(1 - @own@ - @other@) / @gap@ * coalesce(avg(@inflation@), 1)

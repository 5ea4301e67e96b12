-- How much the standard error may be too small because the excess was underestimated.
(1 - @own@ - @other@) / @gap@ * coalesce(max(@inflation@) - avg(@inflation@), 0)

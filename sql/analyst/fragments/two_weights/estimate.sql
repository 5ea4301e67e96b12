-- Inverts E[shown] = own * true + other * (total - true).
(coalesce(count_if(@match@), 0) - @other@ * count(*)) / @gap@

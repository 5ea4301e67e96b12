-- Inverts E[scaled and shown] = own * true + other * (total - true).
(coalesce(sum(weight::DOUBLE) FILTER (@match@), 0) - @other@ * coalesce(sum(weight::DOUBLE), 0)) / @gap@

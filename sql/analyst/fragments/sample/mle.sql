-- The likelihood of n in Bin(n, own) is largest at the estimate.
coalesce(count_if(@match@), 0) / @own@

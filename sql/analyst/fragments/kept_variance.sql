-- The part of the variance of s that is left because the histogram that the weights come from has its noise in part from
-- the records at hand: (1 - share * k) ** 2 of theirs, and twice share * (1 - share) * k ** 2 of all others (splu.md).
[(1 - share * s.k) ** 2 + 2 * share * (1 - share) * s.k ** 2 FOR share IN [least(s.total / s.rows, 1)]][1]

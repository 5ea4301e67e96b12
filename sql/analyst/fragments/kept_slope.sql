-- The same for the slope, which is more where the histogram would follow the count.
(1 - least(s.total / s.rows, 1) * s.k ** 2)

-- How many source records the rows stand for: a whole number but for what adding fractions loses.
round(coalesce(sum(weight::DOUBLE), 0), 6)

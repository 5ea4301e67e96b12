-- quantiles: the value below which a share of records is, from estimated counts of each value, with intervals.
--
-- The steps follow each other. @by@ is PARTITION BY the groups, or nothing. Woodruff (1952): the interval of a quantile holds
-- the values at which a test cannot decide on which side of the share the distribution function is.

-- name: ranked
-- For each value, the estimated number of records up to it. The true number never falls, but the estimate may.
SELECT *, sum(@n@) OVER (@by@ORDER BY @value@ ASC) AS @below@, sum(@n@) OVER (@by_all@) AS @total@
FROM @estimates@

-- name: monotone
-- The largest estimate before and the smallest one after: neither falls.
SELECT *, max(@below@) OVER (@by@ORDER BY @value@ ASC) AS @largest@, min(@below@) OVER (@by@ORDER BY @value@ DESC) AS @smallest@,
  coalesce(lead(@value@) OVER (@by@ORDER BY @value@ ASC), @value@) AS @following@
FROM @ranked@

-- name: at_most
-- Between the two, as far as the share is between 0 and 1. The largest of many estimates is too large, and near the largest value only
-- the estimates before are many; near the smallest value only those after. The middle would move quantiles away from both ends.
(@largest@ + @share@ * (@smallest@ - @largest@))

-- name: discrete
-- The smallest value that reaches the share.
min(@value@) FILTER (WHERE round(@at_most@, 6) >= round(@share@ * @total@, 6) AND @known@)

-- name: descending
-- The same counted from the largest value.
coalesce(min(@value@) FILTER (WHERE round(@at_most@, 6) > round(@share@ * @total@, 6) AND @known@),
  max(@value@) FILTER (WHERE @known@))

-- name: place
-- The rank of the share among the records, from 0.
greatest(round(@share@ * (@total@ - 1), 6), 0)

-- name: known
-- Whether there are records, so that one has the rank.
round(@total@, 6) > 0

-- name: at_floor
-- The value of the record with that rank, rounded down.
min(@value@) FILTER (WHERE round(@at_most@, 6) > floor(@place@) AND @known@)

-- name: at_ceiling
min(@value@) FILTER (WHERE round(@at_most@, 6) > ceil(@place@) AND @known@)

-- name: continuous
-- As far between two values as the share lies between their records. Texts of numbers become numbers, those of dates do not.
[CASE WHEN (r).known AND (r).lower IS NULL THEN error(@between@) ELSE (r).lower + ((r).upper - (r).lower) * (r).part END
 FOR r IN [{known: @at_floor@ IS NOT NULL, lower: TRY_CAST(CAST(@at_floor@ AS VARCHAR) AS DOUBLE),
     upper: TRY_CAST(CAST(@at_ceiling@ AS VARCHAR) AS DOUBLE), part: max(@place@ - floor(@place@))}]][1]

-- name: variance
-- The variance of how far the distribution function is above the share.
@running_variance@ - 2 * @share@ * @covariance@ + @share@ ** 2 * @total_variance@

-- name: reach
-- How far it may be above what is estimated, or below.
(@z@ * sqrt(greatest(@variance@, 0)) + @step@ / 2)

-- name: lower
min(@value@) FILTER (WHERE @below@ - @share@ * @total@ + @reach@ >= -1e-6)

-- name: upper
coalesce(max(@following@) FILTER (WHERE @below@ - @share@ * @total@ - @reach@ < -1e-6), min(@value@))

-- name: continuous_lower
TRY_CAST(CAST(@lower@ AS VARCHAR) AS DOUBLE)

-- name: continuous_upper
TRY_CAST(CAST(@upper@ AS VARCHAR) AS DOUBLE)

-- name: ends
-- The smallest value that may reach the share, and the one after the largest that may not; the estimate lies between them.
-- Dates and texts have no standard error.
CASE WHEN @quantile@ IS NOT NULL THEN
    [{stderr: (TRY_CAST(CAST((i).high AS VARCHAR) AS DOUBLE) - TRY_CAST(CAST((i).low AS VARCHAR) AS DOUBLE)) / (2 * @z@),
      low: (i).low, high: (i).high}
     FOR i IN [{low: least(@quantile@, @low@), high: greatest(@quantile@, @high@)}]][1] END

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
min(@value@) FILTER (WHERE round(@at_most@, 6) >= round(@share@ * @total@, 6) AND round(@total@, 6) > 0)

-- name: descending
-- The same counted from the largest value.
coalesce(min(@value@) FILTER (WHERE round(@at_most@, 6) > round(@share@ * @total@, 6) AND round(@total@, 6) > 0),
  max(@value@) FILTER (WHERE round(@total@, 6) > 0))

-- name: place
-- The rank of the share among the records, from 0.
greatest(round(@share@ * (@total@ - 1), 6), 0)

-- name: at
-- The value of the record with a given rank.
min(@value@) FILTER (WHERE round(@at_most@, 6) > @place@ AND round(@total@, 6) > 0)

-- name: continuous
-- As far between two values as the share lies between their records. Texts of numbers become numbers, those of dates do not.
[CASE WHEN r.known AND r.lower IS NULL THEN error(@between@) ELSE r.lower + (r.upper - r.lower) * r.part END
 FOR r IN [{known: @known@ IS NOT NULL, lower: @at_floor@, upper: @at_ceiling@, part: max(@place@ - floor(@place@))}]][1]

-- name: number
TRY_CAST(CAST(@number@ AS VARCHAR) AS DOUBLE)

-- name: lower
min(@value@) FILTER (WHERE @at_best@ >= -1e-6)

-- name: upper
coalesce(max(@following@) FILTER (WHERE @at_worst@ < -1e-6), min(@value@))

-- name: surely
-- How far the distribution function is above the share, at most and at least.
@below@ - @share@ * @total@ @sign@ (@z@ * sqrt(greatest(@variance@, 0)) + @step@ / 2)

-- name: ends
-- The smallest value that may reach the share, and the one after the largest that may not; the estimate lies between them.
-- Dates and texts have no standard error.
[{stderr: (@high@ - @low@) / (2 * @z@), low: i.low, high: i.high}
 FOR i IN [{low: least(@quantile@, @lower@), high: greatest(@quantile@, @upper@)}]
 IF @quantile@ IS NOT NULL][1]

-- Squared extrapolation (SQUAREM; Varadhan and Roland 2008, scheme S3) of two steps of expectation maximization, from f to
-- next to second. With r the first step, v the second step less the first, and a = max(1, |r| / |v|), it is
-- f + 2 a r + a^2 v, brought to the sum of second; a = 1 is the second step itself. A number that is not positive is
-- replaced by that of the second step. An unknown number stays NULL, and the others are iterated without it.
[[[[[e * list_sum(second) / greatest(list_sum(extrapolated), 1e-300) FOR e IN extrapolated]
    FOR extrapolated IN [[CASE WHEN e[2] + far * (2 * e[3] + far * e[4]) > 0 THEN e[2] + far * (2 * e[3] + far * e[4]) ELSE e[1] END
                  FOR e IN list_zip(second, f, first, turn)]]][1]
   FOR far IN [greatest(1, sqrt(list_sum([e * e FOR e IN first]) / greatest(list_sum([e * e FOR e IN turn]), 1e-300)))]][1]
  FOR turn IN [[e[1] - 2 * e[2] + e[3] FOR e IN list_zip(second, next, f)]]][1]
 FOR first IN [[e[1] - e[2] FOR e IN list_zip(next, f)]]][1]

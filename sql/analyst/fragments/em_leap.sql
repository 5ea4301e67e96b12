-- Two steps of the method, and what they tend to: extrapolated by the ratio of the first step to what the second lacks of it
-- (Varadhan and Roland 2008, scheme S3). Where that leaves no positive number, the second step stands.
[[[[[e * list_sum(second) / greatest(list_sum(leap), 1e-300) FOR e IN leap]
    FOR leap IN [[CASE WHEN e[2] + far * (2 * e[3] + far * e[4]) > 0 THEN e[2] + far * (2 * e[3] + far * e[4]) ELSE e[1] END
                  FOR e IN list_zip(second, f, first, turn)]]][1]
   FOR far IN [greatest(1, sqrt(list_dot_product(first, first) / greatest(list_dot_product(turn, turn), 1e-300)))]][1]
  FOR turn IN [[e[1] - 2 * e[2] + e[3] FOR e IN list_zip(second, next, f)]]][1]
 FOR first IN [[e[1] - e[2] FOR e IN list_zip(next, f)]]][1]

-- aggregates: what stands for the aggregates of DuckDB in the schema estimated: sums of the weights of rows.
--
-- A name on the search path comes before a function of DuckDB of the same name. The columns "current_role" and "current_user" of
-- the view hold the weight of a row, and what the error of a count needs of it: as these are values of SQL as well, a macro can name
-- them though a statement does not. Where there is no such column, the name of the user stands there, which is no number: so what
-- counts other rows is an error.

-- name: weight
coalesce(TRY_CAST("current_role" AS DOUBLE), error(@unweighed@)::DOUBLE)

-- name: row
coalesce(TRY_CAST("current_user" AS @row_type@), CAST(error(@unweighed@) AS @row_type@))

-- name: count_star
coalesce(sum(@weight@), 0)

-- name: count
coalesce(sum(CASE WHEN x IS NOT NULL THEN @weight@ END), 0)

-- name: count_if
coalesce(sum(CASE WHEN x THEN @weight@ END), 0)

-- name: sum
sum(x * @weight@)

-- name: avg
sum(x * @weight@) / sum(CASE WHEN x IS NOT NULL THEN @weight@ END)

-- name: spread
-- How far a count is off. Its cells are the records that agree in all that the statement mentions; w is the weight of a row of
-- one of them, h what the weights of those of its rows that are counted add up to, and q the same if each row is counted as often
-- as a join repeats it. The sum of h * h - q over the records is the variance without bias; sampled is what sampling adds at most.
[[{variance: greatest(list_sum([(c).squares * ((c).h * (c).h - (c).q) + (c).sampled FOR c IN cells]), 0) * @kept@,
   half_step: (list_max([(c).h FOR c IN cells]) - list_min([(c).h FOR c IN cells])) / 2,
  slope: greatest(list_max([(c).h FOR c IN cells]) + list_min([(c).h FOR c IN cells]) - 1, 0),
   records: list_sum([(c).records FOR c IN cells])}
 FOR cells IN [[
    [{records: (s[1]).records, squares: (s[1]).squares, sampled: (s[1]).sampled, h: list_sum([(e).w FOR e IN s]),
      q: CASE WHEN len(list_distinct([(e).x FOR e IN s])) = len(s) THEN list_sum([(e).w FOR e IN s])
        ELSE list_sum([(e).w * len([1 FOR f IN s IF (f).x = (e).x]) FOR e IN s]) END}
     FOR s IN [l[starts[k]:coalesce(starts[k + 1] - 1, len(l))]]][1]
    FOR k IN range(1, len(starts) + 1)]
   FOR starts IN [[i FOR i IN range(1, len(l) + 1) IF i = 1 OR (l[i]).cell <> (l[i - 1]).cell]]]]
 FOR l IN [list(@row@ ORDER BY @row@)]][1][1]

-- name: kept
-- The part of a variance that is left where weights come from the histogram of what is published (mechanism/splu.md).
[(1 - k.share * k.k) ** 2 + 2 * k.share * (1 - k.share) * k.k ** 2 FOR k IN [{
    share: least(list_sum([(c).records FOR c IN cells]) / @records@, 1),
    k: greatest(1 - 1 / nullif(list_max([(c).h FOR c IN cells]) - list_min([(c).h FOR c IN cells]), 0), 0)}]][1]

-- name: count_stderr
sqrt((@spread@).variance)

-- name: ends
-- Two standard errors and half of what a record moves an estimate by, within what is possible: 95%. An impossible estimate hides
-- how far it is off: the variance grows by slope for each record up to the nearest possible count.
[[[{low: greatest(least(estimate - reach, nearest) - (s).half_step, 0),
    high: least(greatest(estimate + reach, nearest) + (s).half_step, (s).records)}
   FOR reach IN [1.959963984540054e0 * sqrt((s).variance + greatest((s).slope * (nearest - estimate), 0))]][1]
  FOR nearest IN [least(greatest(estimate, 0), (s).records)]][1]
 FOR s IN [@spread@]][1]

-- name: count_low
([@ends@ FOR estimate IN [@count_star@]][1]).low

-- name: count_high
([@ends@ FOR estimate IN [@count_star@]][1]).high

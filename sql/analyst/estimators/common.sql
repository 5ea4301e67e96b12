-- common: the sections of a form that neither its own file nor one that it builds on defines.
--
-- A file of this folder is the estimator of one form: its header says what W[x, y] is, the weight with which a row that shows y
-- counts for the value x, and its sections are SQL. README.md says how sections are assembled; in short,
--
--   estimate, variance, ...   formulas over s, a struct of sums: each occurs once, and every function uses it;
--   rows.NAME                 the sum s.NAME, an aggregate over the chosen rows;
--   records.NAME              the same sum, looked up for each row, where a database has releases of several forms;
--   cell.NAME                 the same sum of one value in one group, in the query of priv.reconstructed_distribution;
--   query.NAME                pieces of that query.
--
-- SQL has no let. What is written here for  let s = value in formula  is a list of one element,
--   [formula FOR s IN [value]][1]
-- and it costs almost nothing: the aggregates are in the value, so the formula is computed once for each group, not for each row.

-- name: match
-- Whether a row shows the value.
@compared@ @equals@ @value@

-- name: position
-- Place of the value in the domain, from 1; the missing value comes last.
coalesce(list_position(@texts@, CAST(_value AS VARCHAR) COLLATE C), @size@)

-- name: selected
-- The weights of a row for several values.
[@row@ FOR _priv_x IN @places@]

-- name: rows.total
count(*)

-- name: cell.total
_priv_total

-- name: total
-- How many source records the rows represent.
s.total::DOUBLE

-- name: centre
-- The centre of an interval and its variance. In forms that estimate every value, these are the estimate and its variance.
@estimate@

-- name: spread
@variance@

-- name: zero
-- The variance if no record had the value, extrapolated linearly from the nearest possible count.
@spread@ - @slope@ * least(greatest(@centre@, 0), @total@)

-- name: slack
-- A correction that enlarges the standard error upwards if rows have several weights.
0e0

-- name: upward
-- An upper bound of the third cumulant of the noise over its variance, in records: its skewness towards large estimates.
0e0

-- name: downward
-- The same for the skewness towards small estimates.
0e0

-- name: hidden
-- How many records that have the value may be missing among the rows at hand, and their standard deviation.
0e0

-- name: hidden_spread
0e0

-- name: certain
-- A lower bound of the number of records with the value.
0e0

-- name: moments
-- The moments of a count: all that its interval needs.
{estimate: @centre@, variance: @spread@, zero: @zero@, slope: @slope@, half_step: @half_step@, slack: @slack@,
 upward: @upward@, downward: @downward@, certain: @certain@, hidden: @hidden@, hidden_spread: @hidden_spread@,
 total: @total@, z: @z@}

-- name: z
-- The quantile of the normal distribution that belongs to the confidence.
@normal_quantile@

-- name: test
-- The test of a count, over its moments i. The tolerance is the distance between estimate and true count that needs no noise: half
-- the step between neighbouring estimates, or the term of Cornish and Fisher (1938) for the skewness if that is larger, as it is
-- above 95%. Records that may be hidden can only raise the count.
{estimate: i.estimate, variance: i.variance, there: i.zero + i.slope * i.estimate, rise: i.slope, fall: -i.slope,
 above: greatest(i.half_step, (i.z ** 2 - 1) / 6 * i.downward) + i.z * i.slack,
 below: greatest(i.half_step, (i.z ** 2 - 1) / 6 * i.upward),
 least: i.certain, most: i.total, more: i.hidden + i.z * i.hidden_spread, less: 0e0, z: i.z}

-- name: ends
-- Inverts the test. A value is accepted if its distance to the estimate is at most a step plus z standard errors, computed as if the
-- value were true (Wilson 1927). Over u: estimate and variance; there, the linear variance at the estimate; rise and fall, the growth
-- of the variance for each record that the true value is higher or lower; above and below, the steps upwards and downwards; least and
-- most, the range of possible values; more and less, which are added to the ends.
-- However unlikely an estimate is, the ends reach a step beyond the nearest possible value. Steps are not negative.
-- Without a variance, the value is certainly within a step of the middle, and there is no estimate.
{
    estimate: CASE WHEN u.variance IS NOT NULL THEN u.estimate END,
    stderr: CASE WHEN u.variance IS NOT NULL AND u.estimate IS NOT NULL THEN sqrt(greatest(u.variance, 0)) END,
    low: CASE WHEN u.estimate IS NOT NULL THEN greatest(least(
            u.estimate - u.below - u.z * (u.z * (u.fall / 2) + sqrt(greatest(u.there + u.fall * u.below, 0) + (u.z * (u.fall / 2)) ** 2)),
            @middle@ - u.below) - u.less, u.least) END,
    high: CASE WHEN u.estimate IS NOT NULL THEN least(greatest(
            u.estimate + u.above + u.z * (u.z * (u.rise / 2) + sqrt(greatest(u.there + u.rise * u.above, 0) + (u.z * (u.rise / 2)) ** 2)),
            @middle@ + u.above) + u.more, u.most) END
}

-- name: middle
-- The possible value nearest to the estimate.
least(greatest(u.estimate, u.least), u.most)

-- name: kept
-- The part of the variance of s that remains, because the chosen records are also part of the histogram that the weights are made
-- from: (1 - share * k) ** 2 of their variance, and twice share * (1 - share) * k ** 2 of that of all others, with
-- k = 1 - own + other (splu.md).
[(1 - share * (1 - s.own + s.other)) ** 2 + 2 * share * (1 - share) * (1 - s.own + s.other) ** 2
 FOR share IN [least(s.total / @constant.rows@, 1)]][1]

-- name: kept_slope
-- The same for the slope, which is larger if the histogram would change with the count.
1 - least(s.total / @constant.rows@, 1) * (1 - s.own + s.other) ** 2

-- name: plausible
@as_many@

-- name: several
-- Whether the rows show more than one value, or are so few that they may all show the same. A record shows any one
-- value with a probability of at most a, so n rows all show one with at most a ** (n - 1), here 1e-9. This is tested only if
-- possibly no row shows the value: its two aggregates make a count of ten million rows one and a half times as slow.
s.first IS DISTINCT FROM s.last OR s.rows < (1 + 20.7233 / ln((1 / s.agreement)))

-- name: as_many
-- Whether the number of rows that show the value is possible, whichever records have it. Independent records show it with a probability
-- of at most often. The count exceeds its largest mean by t with a probability of at most exp(-t ** 2 / (2 v + 2 t / 3)), where v is
-- the variance of the count if all of them have the value (Bernstein). The same holds below the smallest mean, by rarely. A false
-- alarm on each side has a probability of 5e-10.
s.seen BETWEEN s.rows * s.rarely - 7.1389 - sqrt(50.9634 + s.rows * (42.833 * s.rarely * (1 - s.rarely)))
    AND s.rows * s.often + 7.1389 + sqrt(50.9634 + s.rows * (42.833 * s.often * (1 - s.often)))

-- name: rows.rarely
-- The smallest probability with which a record shows the value, and the largest.
@number.other@

-- name: rows.often
@number.own@

-- name: rows.rows
count(*)

-- name: rows.seen
-- How many rows show the value, whatever their scale. DuckDB counts so in half the time that FILTER takes.
coalesce(count_if(@match@), 0)

-- name: rows.first
-- Two of the values that the rows show, different ones if there are; NULL where one is missing.
min(@column@)

-- name: rows.last
@last@

-- name: rows.agreement
@agreement@

-- name: em_start
-- Equal frequencies for all values.
[1e0 / @size@ FOR x IN range(@size@)]

-- name: em_shown
-- The observed count that the iterative Bayesian method uses for a value in a group.
_priv_observed

-- name: query.rows
-- The rows that are counted. Names in braces are filled in when the macro is called.
{database}main.@table@ WHERE ({condition}
    )

-- name: query.sums
-- For each group: how many source records it has, what its rows show, and the sums over all values that a form needs.
@rows.total@ AS _priv_total,
        {values: histogram(@attribute@), missing: count_if(@attribute@ IS NULL)} AS _priv_histogram, NULL AS _priv_sums

-- name: query.grouped
SELECT {group_columns} @query.sums@
    FROM @query.rows@ GROUP BY ALL

-- name: query.shown
-- For each group and value: how often the group shows the value, and the sums that a form needs.
shown AS (
    SELECT _priv_group, unnest(map_keys(_priv_histogram.values))::@type@ AS _priv_value,
        unnest(map_values(_priv_histogram.values)) AS _priv_observed, NULL AS _priv_cell
    FROM numbered
    UNION ALL SELECT _priv_group, NULL, _priv_histogram.missing, NULL FROM numbered
)

-- name: query.showing
-- The join condition between these rows and the values of the domain.
shown._priv_value IS NOT DISTINCT FROM domain._priv_value

-- name: query.empty
-- The same sums if the group does not show the value.
NULL

-- name: query.window
-- Sums over all values of a group.
NULL

-- name: query.tallied
-- For the iterative Bayesian method: for each group, the share of rows that show each published value, in order of position.
SELECT _priv_group, list((@em_shown@) / greatest(_priv_total, 1) ORDER BY _priv_position ASC) AS shown
    FROM observed GROUP BY _priv_group

-- name: query.numbers
-- Columns of a value of the domain that the catalog does not have.

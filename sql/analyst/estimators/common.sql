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
-- and it costs next to nothing: aggregates are in the value, so the formula is computed once a group and not once a row.

-- name: match
-- Whether a row shows the value.
@compared@ @equals@ @value@

-- name: position
-- Place of the value in the domain, from 1; the missing value comes last.
CASE WHEN _value IS NULL THEN @size@ ELSE list_position(@texts@, CAST(_value AS VARCHAR) COLLATE C) END

-- name: selected
-- What a row counts for each of some values, by what it shows.
[@row@ FOR _priv_x IN @places@]

-- name: rows.total
count(*)

-- name: cell.total
_priv_total

-- name: total
-- How many source records the rows stand for.
s.total::DOUBLE

-- name: centre
-- What an interval is made around, and its variance: where every value has an estimate, these are they.
@estimate@

-- name: spread
@variance@

-- name: zero
-- The variance if no record had the value, by the line through that of the nearest possible count.
@spread@ - @slope@ * least(greatest(@centre@, 0), @total@)

-- name: slack
-- What rows of several weights add to the standard error upwards.
0e0

-- name: upward
-- Third cumulant over variance of the noise, at most: how far its law leans towards large estimates, in records.
0e0

-- name: downward
-- The same towards small estimates.
0e0

-- name: hidden
-- How many records that have the value may be missing among the rows at hand, and their standard deviation.
0e0

-- name: hidden_spread
0e0

-- name: certain
-- How many records certainly have the value.
0e0

-- name: moments
-- What an interval is made of.
{estimate: @centre@, variance: @spread@, zero: @zero@, slope: @slope@, half_step: @half_step@, slack: @slack@,
 upward: @upward@, downward: @downward@, certain: @certain@, hidden: @hidden@, hidden_spread: @hidden_spread@,
 total: @total@, z: @z@}

-- name: z
-- The quantile of the normal distribution that belongs to the confidence.
@normal_quantile@

-- name: test
-- What is tested of a count, over i, its moments: at the line of the variance, and how far an estimate may lie from the true count
-- before noise is asked. That is half the step between neighbouring estimates, or the term of Cornish and Fisher (1938) for the
-- skewness where that is more, as it is above 95%. What may be hidden counts upwards alone.
{estimate: i.estimate, variance: i.variance, there: i.zero + i.slope * i.estimate, rise: i.slope, fall: -i.slope,
 above: greatest(i.half_step, (i.z ** 2 - 1) / 6 * i.downward) + i.z * i.slack,
 below: greatest(i.half_step, (i.z ** 2 - 1) / 6 * i.upward),
 least: i.certain, most: i.total, more: i.hidden + i.z * i.hidden_spread, less: 0e0, z: i.z}

-- name: ends
-- The one test, inverted: a value is accepted where the estimate lies no further from it than a step and z standard errors, as
-- they would be if it were true (Wilson 1927). Over u: estimate and variance; there, the variance by its line at the estimate;
-- rise and fall, how much it grows for each record that the true value is higher, and lower; above and below, the steps that a
-- value may be higher and lower; least and most, between which it lies; more and less, what is added to the ends.
-- However unlikely an estimate is, the ends reach a step beyond the possible value that is nearest to it.
-- Where there is no variance, the value certainly lies within a step of the middle, and there is no estimate.
{
    estimate: CASE WHEN u.variance IS NOT NULL THEN u.estimate END,
    stderr: CASE WHEN u.variance IS NOT NULL AND u.estimate IS NOT NULL THEN sqrt(greatest(u.variance, 0)) END,
    low: CASE WHEN u.estimate IS NULL THEN NULL WHEN u.estimate - u.below <= u.least THEN u.least ELSE least(greatest(least(
            u.estimate - u.below - u.z ** 2 * u.fall / 2
            - u.z * sqrt(greatest(u.there + u.fall * u.below, 0) + (u.z * u.fall / 2) ** 2),
            @middle@ - u.below) - u.less, u.least), u.most) END,
    high: CASE WHEN u.estimate IS NULL THEN NULL WHEN u.estimate + u.above >= u.most THEN u.most ELSE greatest(least(greatest(
            u.estimate + u.above + u.z ** 2 * u.rise / 2
            + u.z * sqrt(greatest(u.there + u.rise * u.above, 0) + (u.z * u.rise / 2) ** 2),
            @middle@ + u.above) + u.more, u.most), u.least) END
}

-- name: middle
-- The possible value that is nearest to the estimate.
least(greatest(u.estimate, u.least), u.most)

-- name: kept
-- The part of the variance of s that is left because the histogram that the weights come from has its noise in part from
-- the records at hand: (1 - share * k) ** 2 of theirs, and twice share * (1 - share) * k ** 2 of all others, with
-- k = 1 - own + other (splu.md).
[(1 - share * (1 - s.own + s.other)) ** 2 + 2 * share * (1 - share) * (1 - s.own + s.other) ** 2
 FOR share IN [least(s.total / @constant.rows@, 1)]][1]

-- name: kept_slope
-- The same for the slope, which is more where the histogram would follow the count.
1 - least(s.total / @constant.rows@, 1) * (1 - s.own + s.other) ** 2

-- name: plausible
@as_many@

-- name: several
-- Whether the rows show more than one value, or are so few that they may all show the same. A record shows any one
-- value with a probability of at most a, so n rows all show one with at most a ** (n - 1), here 1e-9. Asked if
-- a value may well be shown by none: it takes two more aggregates, which cost a count of ten million rows a half.
s.first IS DISTINCT FROM s.last OR s.rows < (1 + 20.7233e0 / ln((1 / s.agreement)))

-- name: as_many
-- Whether this many of the rows, and this few, may show the value, whichever records have it: of independent records that show it with a
-- probability of at most often, more than that by t do with one of exp(-t ** 2 / (2 v + 2 t / 3)) at most, v the variance of
-- the count if all of them have it (Bernstein); and fewer than rarely the same. Each once in two thousand million times.
s.seen BETWEEN s.rows * s.rarely - 7.1389e0 - sqrt(50.9634e0 + s.rows * (42.833e0 * s.rarely * (1 - s.rarely)))
    AND s.rows * s.often + 7.1389e0 + sqrt(50.9634e0 + s.rows * (42.833e0 * s.often * (1 - s.often)))

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
-- Every value with the same share.
[1e0 / @size@ FOR x IN range(@size@)]

-- name: em_shown
-- What the iterative Bayesian method takes for shown, of a value in a group.
_priv_observed

-- name: query.rows
-- The rows that are counted. Names in braces are filled in when the macro is called.
{database}main.@table@ WHERE ({condition}
    )

-- name: query.sums
-- Of each group: how many source records, what its rows show, and the sums over all values that a form needs besides.
@rows.total@ AS _priv_total,
        {values: histogram(@attribute@), missing: count_if(@attribute@ IS NULL)} AS _priv_histogram, NULL AS _priv_sums

-- name: query.grouped
SELECT {group_columns} @query.sums@
    FROM @query.rows@ GROUP BY ALL

-- name: query.shown
-- How often each group shows each value, and the sums that a form needs of both besides.
shown AS (
    SELECT _priv_group, unnest(map_keys(_priv_histogram.values))::@type@ AS _priv_value,
        unnest(map_values(_priv_histogram.values)) AS _priv_observed, NULL AS _priv_cell
    FROM numbered
    UNION ALL SELECT _priv_group, NULL, _priv_histogram.missing, NULL FROM numbered
)

-- name: query.showing
-- Which of these is of a value of the domain.
shown._priv_value IS NOT DISTINCT FROM domain._priv_value

-- name: query.empty
-- Those sums where the group does not show the value.
NULL

-- name: query.window
-- Sums over all values of a group.
NULL

-- name: query.tallied
-- For the iterative Bayesian method: the shares of the rows of each group that show each of what can be shown, in order.
SELECT _priv_group, list((@em_shown@) / greatest(_priv_total, 1) ORDER BY _priv_position ASC) AS shown
    FROM observed GROUP BY _priv_group

-- name: query.numbers
-- What a value of the domain has besides its numbers in the catalog.

-- Shapes of random queries, of everything that docs/sql.md lists: each line is one of the ways to write its section.
--
-- A name in braces is drawn once for a line, and again with another number. `condition`, `of_disease`, `of_public` and `number` are
-- those of generator.py, `where` is a WHERE or nothing, as (nothing) is. Columns k0, k1, … are keys, and e0, e1, … are estimates.

-- kind: plain
SELECT {linear} AS e0 FROM visits{where}

-- kind: counts
SELECT {key} AS k0, count(*) AS e0, {linear} AS e1 FROM visits{where} GROUP BY {by}
SELECT {public} AS k0, {true} AS k1, count(*) AS e0, {linear} AS e1 FROM visits{where} GROUP BY {both}

-- kind: sums
SELECT {linear} AS e0, {linear2} AS e1, {linear3} AS e2 FROM visits{where}
SELECT {key} AS k0, {linear} AS e0, {linear2} AS e1 FROM visits{where} GROUP BY {by}

-- kind: shares
SELECT {ratio} AS e0, {ratio2} AS e1 FROM visits{where}
SELECT {key} AS k0, {ratio} AS e0 FROM visits{where} GROUP BY {by}

-- kind: means
SELECT avg({number}) AS e0 FROM visits{where}
SELECT {key} AS k0, avg({number}) AS e0, {ratio} AS e1 FROM visits{where} GROUP BY {by}

-- kind: moments
SELECT {moment} AS e0 FROM visits{where}
SELECT {key} AS k0, {moment} AS e0 FROM visits{where} GROUP BY {by}

-- kind: quantiles
SELECT {quantile} AS e0 FROM visits{where}
SELECT {key} AS k0, {quantile} AS e0 FROM visits{where} GROUP BY {by}

-- kind: lists
SELECT DISTINCT disease AS k0 FROM visits {chosen}
SELECT disease AS k0 FROM visits {chosen} GROUP BY 1
SELECT disease AS k0 FROM visits {chosen} GROUP BY disease ORDER BY disease NULLS FIRST LIMIT 3
SELECT DISTINCT upper(disease) AS k0 FROM visits {chosen}
SELECT DISTINCT ward AS k0 FROM visits ORDER BY ward
SELECT count(DISTINCT ward) AS k0, min(age) AS k1, max(day) AS k2, {linear} AS e0 FROM visits
SELECT ward AS k0, min(cost) AS k1, count(*) AS e0, count_if({of_disease}) AS e1 FROM visits GROUP BY ward
SELECT count(*) AS e0 FROM visits WHERE disease IN (SELECT DISTINCT disease FROM visits {chosen})

-- kind: subqueries
SELECT {linear} AS e0 FROM (SELECT * FROM visits WHERE {condition}) AS t WHERE {condition2}
SELECT {linear} AS e0 FROM (FROM visits WHERE {condition}) WHERE {condition2}
SELECT ward AS k0, {linear} AS e0 FROM (SELECT * FROM (SELECT * FROM visits) AS a WHERE {condition}) AS b GROUP BY ward
SELECT d AS k0, count(*) AS e0 FROM (SELECT disease AS d, age AS a FROM visits WHERE {condition}) AS t WHERE a > 30 GROUP BY d
SELECT b AS k0, sum(a) AS e0 FROM (SELECT age, ward FROM visits WHERE {condition}) AS t(a, b) GROUP BY b
SELECT ill AS k0, count(*) AS e0 FROM (SELECT {of_disease} AS ill FROM visits WHERE {condition}) GROUP BY ill
WITH v AS (SELECT * FROM visits WHERE {condition}) SELECT ward AS k0, {linear} AS e0 FROM v GROUP BY ward
WITH v AS MATERIALIZED (SELECT * EXCLUDE (day) FROM visits WHERE {of_disease}) SELECT ward AS k0, count(*) AS e0 FROM v GROUP BY ward
WITH v(a, d) AS (SELECT age, disease FROM visits WHERE {condition}) SELECT d AS k0, sum(a) AS e0 FROM v GROUP BY d
WITH v AS (SELECT *, age // 10 AS ten FROM visits), w AS (SELECT * FROM v WHERE {condition}) SELECT ten AS k0, {linear} AS e0 FROM w GROUP BY ten
SELECT {linear} AS e0 FROM visits WHERE ward IN (SELECT ward FROM memory.main.wards WHERE rate > 2) AND {condition}
SELECT {linear} AS e0 FROM visits AS v WHERE EXISTS (SELECT 1 FROM memory.main.chapter AS c WHERE c.code = v.disease AND c.points > 2)
SELECT count(*) AS e0 FROM visits WHERE disease = (SELECT code FROM memory.main.chapter WHERE points = 3)
SELECT count(*) AS e0 FROM visits WHERE age > (SELECT avg(age) FROM visits) AND {condition}
SELECT (SELECT {linear} FROM visits WHERE {condition}) AS e0, (SELECT count(*) FROM visits) AS e1
SELECT t.* FROM (SELECT ward AS k0, count(*) AS e0 FROM visits WHERE {condition} GROUP BY ward) AS t
FROM (SELECT disease AS k0, {linear} AS e0 FROM visits GROUP BY disease)
FROM visits SELECT count(*) AS e0 WHERE {condition}
SELECT {linear} AS e0 FROM visits WHERE disease NOT IN (SELECT code FROM memory.main.chapter WHERE points > 2)
SELECT {linear} AS e0 FROM (SELECT * REPLACE (age + 1 AS age) FROM visits WHERE {condition})
SELECT count(*) AS e0 FROM visits AS v WHERE v.age > (SELECT 20 * max(rate) FROM memory.main.wards AS w WHERE w.ward = v.ward) AND {of_disease}

-- kind: joins
SELECT floor AS k0, {simple} AS e0 FROM visits JOIN memory.main.wards USING (ward){where} GROUP BY floor
SELECT w.floor AS k0, {simple} AS e0 FROM memory.main.wards AS w JOIN visits AS v ON v.ward = w.ward GROUP BY w.floor
SELECT floor AS k0, {simple} AS e0 FROM visits LEFT JOIN memory.main.wards USING (ward){where} GROUP BY ALL
SELECT chapter AS k0, {simple} AS e0, sum(points) AS e1 FROM visits JOIN memory.main.chapter ON code = disease{where} GROUP BY chapter
SELECT chapter AS k0, {simple} AS e0 FROM memory.main.chapter JOIN visits ON disease = code AND age > 30 GROUP BY 1
SELECT coalesce(chapter, 'other') AS k0, {simple} AS e0 FROM visits LEFT JOIN memory.main.chapter ON code = disease GROUP BY 1
SELECT floor AS k0, chapter AS k1, {simple} AS e0 FROM visits, memory.main.wards AS w, memory.main.chapter WHERE visits.ward = w.ward AND code = disease GROUP BY ALL
SELECT c.code AS k0, {simple} AS e0 FROM visits AS v JOIN memory.main.chapter AS c ON c.code = v.disease OR c.points > 9 GROUP BY ALL
WITH names(code, name) AS (VALUES ('flu', 'F'), ('none', 'N')) SELECT name AS k0, {simple} AS e0 FROM visits JOIN names ON code = disease GROUP BY name
SELECT least AS k0, {simple} AS e0 FROM visits CROSS JOIN (VALUES (20), (40)) AS b(least) WHERE age > least GROUP BY least
SELECT x AS k0, {simple} AS e0 FROM visits, unnest([20, 40]) AS u(x) WHERE age > x GROUP BY x
SELECT g AS k0, {simple} AS e0 FROM visits, range(20, 60, 20) AS r(g) WHERE age >= g GROUP BY g
SELECT w.ward AS k0, t.n AS e0 FROM memory.main.wards AS w LEFT JOIN (SELECT ward, {simple} AS n FROM visits{where} GROUP BY ward) AS t ON t.ward = w.ward
SELECT w.ward AS k0, t.n AS e0 FROM memory.main.wards AS w, LATERAL (SELECT {simple} AS n FROM visits AS v WHERE v.ward = w.ward) AS t
SELECT ward AS k0, (SELECT {simple} FROM visits AS v WHERE v.ward = w.ward) AS e0 FROM memory.main.wards AS w
SELECT {simple} AS e0 FROM visits SEMI JOIN memory.main.chapter ON code = disease
SELECT {simple} AS e0 FROM visits LEFT JOIN memory.main.chapter ON code = disease AND points > 2 WHERE chapter IS NULL

-- kind: groups
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY ROLLUP (k0, k1)
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY CUBE (1, 2)
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY GROUPING SETS ((k0), (k1), ())
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY GROUPING SETS ((k0, k1), (k0))
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY k0, ROLLUP (k1)
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY ALL
SELECT ward AS k0, disease AS k1, grouping(disease) AS k2, count(*) AS e0 FROM visits GROUP BY ROLLUP (ward, disease)
SELECT ward AS k0, grouping_id(ward, disease) AS k2, count(*) AS e0 FROM visits GROUP BY CUBE (ward, disease)
SELECT {public} AS k0, {true} AS k1, {linear} AS e0 FROM visits{where} GROUP BY k1, k0 ORDER BY k0, k1 NULLS LAST

-- kind: having
SELECT ward AS k0, {linear} AS e0 FROM visits{where} GROUP BY ward HAVING {having}

-- kind: windows
SELECT {axis} AS k0, {linear} AS e0, sum({linear}) OVER (ORDER BY {axis}) AS e1 FROM visits{where} GROUP BY 1
SELECT {axis} AS k0, count(*) AS e0, count(*) / sum(count(*)) OVER () AS e1 FROM visits{where} GROUP BY 1
SELECT age AS k0, ward AS k1, count(*) / sum(count(*)) OVER (PARTITION BY ward) AS e0 FROM visits{where} GROUP BY 1, 2
SELECT disease AS k0, ward AS k1, count(*) AS e0, sum(count(*)) OVER (PARTITION BY ward) AS e1 FROM visits{where} GROUP BY 1, 2
SELECT age AS k0, {linear} AS e0, lag({linear}) OVER (ORDER BY age) AS e1 FROM visits{where} GROUP BY 1
SELECT age AS k0, avg({linear}) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS e0 FROM visits{where} GROUP BY 1
SELECT age AS k0, {linear} - lag({linear}, 1, 0) OVER (ORDER BY age) AS e0 FROM visits{where} GROUP BY 1
SELECT disease AS k0, count(*) AS e0, rank() OVER (ORDER BY count(*) DESC) AS r FROM visits{where} GROUP BY 1
SELECT ward AS k0, disease AS k1, count(*) AS e0 FROM visits{where} GROUP BY 1, 2 QUALIFY row_number() OVER (PARTITION BY ward ORDER BY disease) <= 2
SELECT age AS k0, sum(count(*)) OVER w AS e0 FROM visits{where} GROUP BY age WINDOW w AS (ORDER BY age)
SELECT k0, e0, sum(e0) OVER (ORDER BY k0) AS e1 FROM (SELECT {axis} AS k0, {linear} AS e0 FROM visits{where} GROUP BY 1)
SELECT k0, 100.0 * n / sum(n) OVER () AS e0 FROM (SELECT disease AS k0, count(*) AS n FROM visits{where} GROUP BY 1)
SELECT age AS k0, first_value(count(*)) OVER (ORDER BY age) AS e0 FROM visits{where} GROUP BY 1

-- kind: sets
SELECT 'a' AS k0, {linear} AS e0 FROM visits WHERE {condition} {kind} SELECT 'b' AS k0, {linear2} AS e0 FROM visits WHERE {condition2}
(SELECT ward AS k0, {linear} AS e0 FROM visits WHERE {condition} GROUP BY ward) UNION ALL (SELECT 'all', {linear} FROM visits) ORDER BY k0
SELECT 'total' AS k0, 1 AS e0 UNION ALL SELECT disease, count(*) FROM visits WHERE {condition} GROUP BY disease
SELECT k0, sum(n) AS e0 FROM (SELECT ward AS k0, count(*) AS n FROM visits WHERE {condition} GROUP BY ward UNION ALL SELECT ward, 0 FROM memory.main.wards) GROUP BY k0
WITH a AS (SELECT ward AS w, count(*) AS n FROM visits WHERE {condition} GROUP BY ward), b AS (SELECT ward AS w, count(*) AS n FROM visits GROUP BY ward) SELECT a.w AS k0, a.n / b.n AS e0 FROM a JOIN b ON a.w = b.w
SELECT disease AS k0 FROM visits GROUP BY disease EXCEPT SELECT code FROM memory.main.chapter

-- kind: nested
SELECT w AS k0, sum(n) AS e0 FROM ({inner}) GROUP BY w
SELECT d AS k0, sum(n) AS e0, sum(s) AS e1 FROM ({inner}) GROUP BY d
SELECT d AS k0, sum(s) / sum(n) AS e0 FROM ({inner}) GROUP BY d
SELECT sum(n) AS e0, sum(a * n) AS e1 FROM ({inner})
SELECT w AS k0, sum(n) FILTER (WHERE d = 'flu') AS e0 FROM ({inner}) GROUP BY w
SELECT w AS k0, sum(CASE WHEN d = 'flu' THEN n ELSE 0 END) / sum(n) AS e0 FROM ({inner}) GROUP BY w
SELECT w AS k0, d AS k1, sum(n) AS e0 FROM ({inner}) GROUP BY ROLLUP (w, d)
WITH t AS ({inner}), u AS (SELECT w, d, sum(n) AS n FROM t GROUP BY ALL) SELECT d AS k0, sum(n) AS e0 FROM u GROUP BY d
SELECT w AS k0, d AS k1, a AS k2, n AS e0 FROM ({inner}) WHERE a > 30 AND w <> 'south'
SELECT w AS k0, d AS k1, a AS k2, n * 2 + 1 AS e0, s / n AS e1 FROM ({inner})
SELECT w AS k0, max(CASE WHEN d = 'flu' THEN n END) AS e0 FROM (SELECT ward AS w, disease AS d, count(*) AS n FROM visits GROUP BY ALL) GROUP BY w
SELECT count(*) AS k0 FROM ({inner})
SELECT avg(n) AS e0 FROM (SELECT ward, count(*) AS n FROM visits WHERE {of_disease} GROUP BY ward)
SELECT sum(n) AS e0 FROM (SELECT ward, count(*) AS n FROM visits WHERE {of_disease} GROUP BY ward HAVING max(age) > 30)

-- kind: quoted
SELECT {column} AS k0, count(*) AS e0 FROM {table} GROUP BY {column}
SELECT "v"."disease" AS k0, count(*) AS e0 FROM {table} AS "v" GROUP BY "v"."disease"
SELECT "count"."n" AS e0 FROM (SELECT count(*) AS "n" FROM {table} WHERE {column} = 'flu') AS "count"
SELECT count(*) AS "e0" FROM {table} /* all of them */ WHERE {column} = 'flu' -- the ill\n AND age > 30;
select  ward as k0 , count ( * ) as e0 from {table} where {column} in ( 'flu' ) group by  ward
SELECT count(*) AS "e0 of ""all""", sum(age) AS "select" FROM {table} WHERE {column} = 'flu'
SELECT disease AS age, count(*) AS e0 FROM {table} GROUP BY disease
SELECT age + 1 AS disease, count(*) AS e0 FROM {table} WHERE {column} = 'flu' GROUP BY 1
SELECT count(*), count(*), sum(age) FROM {table} WHERE {column} = 'flu'
SELECT ward, count(*) n, sum(age) total FROM {table} v WHERE disease = 'flu' GROUP BY v.ward ORDER BY n
SELECT age // 10 AS k0, k0 * 10 AS k1, count(*) AS e0, e0 / 2 AS e1 FROM {table} WHERE {column} = 'flu' GROUP BY ALL
SELECT visits.ward AS k0, count(visits.disease) AS e0 FROM visits GROUP BY visits.ward

-- kind: dates
SELECT {period} AS k0, {linear} AS e0 FROM visits WHERE {time} AND {of_disease} GROUP BY {by}

-- kind: nulls
SELECT {null} AS e0, count_if({nothing}) AS e1 FROM visits WHERE {nothing}
SELECT {key} AS k0, {null} AS e0 FROM visits WHERE {nothing} GROUP BY {by}

-- kind: top
SELECT {axis} AS k0, {linear} AS e0 FROM visits{where} GROUP BY {axis} ORDER BY {axis} {order} {limit}

-- kind: written
SELECT {linear} AS e0, count_if({expression}) AS e1 FROM visits
SELECT {key} AS k0, {linear} AS e0 FROM visits WHERE {expression} GROUP BY {by}

-- kind: above
SELECT {above} AS e0 FROM visits{where}
SELECT {key} AS k0, {above} AS e0 FROM visits{where} GROUP BY {by}

-- kind: statements
PIVOT visits ON disease USING count(*) AS e GROUP BY ward
PIVOT visits ON disease IN ('flu', 'none') USING count(*), sum(age) GROUP BY ward
FROM ({query}) AS t WHERE k0 = 'north'
VALUES ((SELECT count(*) FROM visits WHERE {condition}))
EXPLAIN {query}
SELECT * FROM (PIVOT visits ON disease USING count(*) GROUP BY ward)
SELECT count(*) AS e0 FROM memory.main.adults WHERE disease = 'flu'
SELECT ward AS k0, sum(years) AS e0 FROM memory.main.ill WHERE {of_disease} GROUP BY ward
CREATE OR REPLACE TEMP TABLE kept AS {query}

-- kind: refused
SELECT disease FROM visits WHERE {condition}
SELECT * FROM visits WHERE {of_disease} LIMIT 3
SELECT max(age) FROM visits WHERE {of_disease}
SELECT mode(disease) FROM visits
SELECT count(DISTINCT disease) FROM visits
SELECT string_agg(disease, ',') FROM visits
SELECT list(disease) FROM visits
SELECT arg_max(disease, age) FROM visits
SELECT count(*) FROM (SELECT * FROM visits LIMIT 10) WHERE {of_disease}
SELECT count(*) FROM visits TABLESAMPLE 10% WHERE disease = 'flu'
SELECT count(*) FROM visits WHERE {of_disease} AND random() < 0.5
SELECT a.disease, b.disease, count(*) FROM visits AS a JOIN visits AS b USING (age) GROUP BY 1, 2
SELECT count(*) FROM visits WHERE disease = 'Flu'
SELECT row_number() OVER (ORDER BY disease) FROM visits
SELECT disease, sum(age) OVER () FROM visits
SELECT EXISTS (SELECT 1 FROM visits WHERE {of_disease})
SELECT DISTINCT disease, ward FROM visits
SELECT ward FROM visits GROUP BY ward, disease
SELECT count(*) FROM memory.main.wards RIGHT JOIN visits USING (ward) WHERE disease = 'flu'
SELECT count(*) FROM visits FULL JOIN memory.main.chapter ON code = disease
SELECT max(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease)
SELECT stddev(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease)
SELECT sum(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease HAVING count(*) > 10)
SELECT histogram(disease) FROM visits
SELECT first(disease), any_value(disease) FROM visits
SELECT approx_count_distinct(disease) FROM visits
SELECT bool_or(disease = 'flu') FROM visits
SELECT product(age) FROM visits WHERE disease = 'flu'
WITH RECURSIVE t AS (SELECT * FROM visits UNION ALL SELECT * FROM t WHERE age < 0) SELECT count(*) FROM t WHERE disease = 'flu'
SELECT count(*) FROM visits ASOF JOIN memory.main.wards ON age >= rate WHERE disease = 'flu'
SELECT count(*) FROM visits NATURAL JOIN memory.main.wards WHERE disease = 'flu'
SELECT unnest([disease]) FROM visits
SELECT count(*) FROM visits POSITIONAL JOIN memory.main.wards WHERE disease = 'flu'
SELECT COLUMNS(*) FROM visits
SELECT count(COLUMNS(*)) FROM visits
SELECT min(COLUMNS('d.*')) FROM visits
SELECT sum(age ORDER BY disease) FROM visits
SELECT disease, rank() OVER (ORDER BY disease) FROM visits GROUP BY disease
SELECT entropy(disease) FROM visits
SELECT list_transform([disease], lambda x: x || '!') FROM visits
SELECT visits FROM visits
SELECT count(*) FROM visits WHERE visits.disease = ward QUALIFY true
UPDATE visits SET disease = 'flu'
DELETE FROM visits WHERE disease = 'flu'
SELECT count(*) FROM visits, visits WHERE disease = 'flu'
UNPIVOT visits ON disease, ward
SELECT count(*) FROM visits AS v(a, b, c, d, e) WHERE e = 'flu'
SELECT ward, age, median(disease) FROM visits GROUP BY ALL
SELECT count(*) FROM (SELECT DISTINCT disease, ward FROM visits)
SELECT count(*) FROM (SELECT *, row_number() OVER () AS r FROM visits) WHERE disease = 'flu' AND r < 10

-- part: key
{public}
{true}

-- part: public
ward
age
age // 20
year(day)
month(day)
quarter(day)
(age > 40)
left(ward, 1)
date_trunc('quarter', day)
day >= DATE '2024-07-01'
if(age < 50, 'young', 'old')
dayofweek(day)
CASE WHEN age < 30 THEN 'a' WHEN age < 60 THEN 'b' ELSE 'c' END
round(cost, -2)
extract(year FROM day)

-- part: true
disease
upper(disease)
disease = 'flu'
disease IN ('flu', 'cancer')
coalesce(disease, '-')
ifnull(disease, '?')
nullif(disease, 'none')
left(disease, 1)
CASE disease WHEN 'flu' THEN 'lung' WHEN 'asthma' THEN 'lung' ELSE 'other' END
disease IS NULL
concat(disease, '/', ward)
disease || '!'
(disease, ward)
{'d': disease}
[disease]
starts_with(disease, 'a')
if(disease > 'c', age, 0)
md5(disease)
replace(disease, 'a', 'b')

-- part: by
ALL
1
k0

-- part: both
ALL
1, 2
k0, k1
k1, 1

-- part: linear
count(*)
count()
count(1)
sum(1)
count(disease)
count(age)
count_if({condition})
countif({condition})
sum(({condition})::INT)
sum(CAST({condition} AS INTEGER))
sum({number})
count(*) FILTER (WHERE {condition})
count(*) FILTER ({condition})
sum({number}) FILTER (WHERE {condition})
sum(CASE WHEN {condition} THEN {number} END)
sum(if({condition}, {number}, 0))
sum(({number}) * ({condition})::INT)
count(CASE WHEN {condition} THEN 'x' END)
count(*) - count_if({condition})
2 * count(*) + sum({number})
sum(CASE WHEN {condition} THEN 1 ELSE -1 END)
coalesce(sum({number}), 0)
sum(({number})) * 2
-count_if({condition})
count_if({condition}) / 2.0
sum(({number}) / 2)
CAST(count_if({condition}) AS DOUBLE)

-- part: ratio
avg({number})
mean({number})
avg(({condition})::INT)
avg(CASE WHEN {condition} THEN 1.0 ELSE 0 END)
avg({number}) FILTER (WHERE {condition})
sum({number}) / count(*)
100.0 * count_if({condition}) / count(*)
round(100 * count_if({condition}) / sum(1), 1)
count_if({condition})::DOUBLE / nullif(count(disease), 0)
sum({number}) / nullif(count_if({condition}), 0)
avg(CASE WHEN {condition} THEN {number} END)
count_if(disease = 'flu') * 1.0 / count_if({condition})
avg({number}) - avg({number}) FILTER (WHERE {condition})
1 - count_if({condition}) / count(*)
avg(if({condition}, {number}, NULL))

-- part: moment
{pair}({number2}, {number})
{pair}({number2}, {number}) FILTER (WHERE {condition})
var_pop({number})
variance({number})
stddev_samp({number})
stddev({number}) FILTER (WHERE {condition})
sqrt(var_samp({number}))

-- part: pair
corr
covar_pop
covar_samp
regr_slope
regr_intercept
regr_r2
regr_count
regr_avgx

-- part: quantile
median({value})
quantile_cont({value}, 0.9)
quantile_disc({value}, 0.25)
quantile_cont({value}, [0.25, 0.75])
percentile_cont(0.4) WITHIN GROUP (ORDER BY {value})
percentile_disc(0.5) WITHIN GROUP (ORDER BY {value} DESC)
median({value}) FILTER (WHERE {condition})
quantile({value}, 0.5)
median(CASE WHEN {condition} THEN {value} END)
quantile_cont(cost, 0.75) - quantile_cont(cost, 0.25)

-- part: value
age
cost
age * 2
cost - age
day

-- part: chosen
(nothing)
WHERE {of_disease}
WHERE {of_public}

-- part: simple
count(*)
sum(age)
count_if({of_disease})

-- part: having
count(*) > 100
max(age) > 40
min(cost) < 10
count(*) > 50 AND ward <> 'south'
ward LIKE 'n%'
sum(age) > 0
count(*) = (SELECT max(n) FROM (SELECT count(*) AS n FROM visits GROUP BY ward))
count(DISTINCT day) > 3
count_if({of_disease}) > 10
avg(age) > 20
any_value(ward) IS NOT NULL

-- part: axis
ward
age
year(day)

-- part: kind
UNION ALL
UNION ALL BY NAME
UNION
EXCEPT ALL

-- part: inner
SELECT ward AS w, disease AS d, age AS a, count(*) AS n, sum(cost) AS s FROM visits{where} GROUP BY ALL

-- part: column
"disease"
"Disease"
DISEASE
Disease

-- part: table
visits
"visits"
VISITS

-- part: time
day BETWEEN '2024-02-01' AND '2024-11-30'
day >= DATE '2024-03-01' AND day < DATE '2024-03-01' + INTERVAL 90 DAY
date_part('month', day) = 3
extract('dow' FROM day) IN (0, 6)
strftime(day, '%Y') = '2024'
day::VARCHAR LIKE '2024-0%'
date_diff('day', DATE '2024-01-01', day) < 100
CAST(day AS TIMESTAMP) > TIMESTAMP '2024-05-05 12:00:00'
last_day(day) <> day
day IN (DATE '2024-01-01', DATE '2024-01-02')

-- part: period
date_trunc('month', day)
strftime(day, '%Y-%m')
monthname(day)
day::TIMESTAMP
year(day) * 100 + month(day)
time_bucket(INTERVAL 1 MONTH, day)

-- part: nothing
disease IS NULL
disease IS NOT NULL
disease = NULL
NOT (disease = 'flu')
disease IN ('flu', NULL)
disease NOT IN ('flu', NULL)
disease IS DISTINCT FROM 'flu'
disease IS NOT DISTINCT FROM NULL
coalesce(disease, 'flu') = 'flu'
(disease = 'flu') IS NULL
(disease = 'flu') IS NOT TRUE
NOT (disease = 'flu' AND age > 40)
nullif(disease, 'flu') IS NULL
disease = 'flu' OR NULL
ifnull(disease, ward) = 'north'
disease ISNULL
disease NOTNULL
disease = 'flu' IS NOT NULL

-- part: null
count(*)
count(disease)
sum(age)
count(nullif(disease, 'none'))
count_if(disease = 'flu')
sum(nullif(age, 20))
count(NULL)
sum(NULL)

-- part: order
(nothing)
DESC
ASC NULLS LAST

-- part: limit
(nothing)
LIMIT 2
LIMIT 2 OFFSET 1
LIMIT 50%
OFFSET 1

-- part: expression
disease = ANY(['flu', 'none'])
list_contains(['flu', 'cancer'], disease)
disease IN ['flu', 'none']
disease SIMILAR TO 'f.*'
disease ~ '^f'
disease GLOB 'f*'
contains(disease, 'a')
(disease, ward) IN (('flu', 'north'), ('none', 'south'))
disease NOT LIKE 'f%'
disease ^@ 'f'
(disease = 'flu') = (age > 40)
xor(age, 1) > 30 AND disease = 'flu'
disease != 'flu'
disease == 'flu'
lower(trim(disease)) = 'flu'
disease COLLATE NOCASE = 'FLU'
CASE WHEN disease = 'flu' THEN age > 40 ELSE age < 30 END
disease[1] = 'f'
hash(disease) % 2 = 0
length(disease) BETWEEN 3 AND 4
greatest(disease, 'b') = 'flu'
disease = 'flu' AND disease = 'none'
disease = 'flu' AND disease IS NOT NULL
ward = 'north' OR disease = 'flu' AND NOT age > 40
disease <= 'flu' AND disease >= 'cancer'
position('u' IN disease) > 0
'flu' LIKE disease
age::VARCHAR || disease = '30flu'
disease > ward
try_cast(disease AS INTEGER) IS NULL
disease = 'fl' || 'u'
disease = upper('flu')
TRUE
disease = disease
1 = 1 AND (disease) = ('flu')
list_has([ward, disease], 'flu')
list_any_value([disease, ward]) = 'flu'

-- part: above
sqrt(greatest({linear}, 0))
ln(1 + abs({linear}))
round({linear}, 2)
({linear})::INTEGER
{linear} > {linear2}
greatest({linear}, {linear2})
CASE WHEN {linear} > 100 THEN {linear2} ELSE 0 END
{linear} * {linear2}
{linear} || ' records'
format('{:.1f}', ({linear})::DOUBLE)
[{linear}, {linear2}]
{'a': {linear}, 'b': {linear2}}
coalesce({linear}, 0) / nullif({linear2}, 0)
({linear}) ** 2
{linear} % 7
{linear} // 3
{linear} IS NULL
floor({linear} / 10) * 10
abs({linear} - {linear2})
printf('%d', ({linear})::BIGINT)

-- part: query
SELECT ward AS k0, {linear} AS e0 FROM visits{where} GROUP BY ward

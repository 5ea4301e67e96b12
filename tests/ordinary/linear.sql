-- What ordinary queries must answer, by definition: every pair is an ordinary query over the release, and the same over
-- memory.main.weighted, where each row is repeated with every true value that it may have, and its weight w.
-- `records` and `shown` serve what is known exactly: how many records a row stands for, on one of its lines.
-- A case that names an attribute which a release does not have is left out for it.

-- title: one value
SELECT count(*) FROM visits WHERE disease = 'flu';
SELECT sum(w) FROM weighted WHERE disease = 'flu';

-- title: one value, a public filter, groups, order
SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' AND age > 30 GROUP BY ward HAVING count(*) > 10 ORDER BY 2 DESC;
SELECT ward, sum(w) AS n FROM weighted WHERE disease = 'flu' AND age > 30 GROUP BY ward HAVING sum(w) > 10 ORDER BY n DESC;

-- title: the missing value
SELECT age, count(*) AS n FROM visits WHERE disease IS NULL GROUP BY age ORDER BY age;
SELECT age, sum(w) AS n FROM weighted WHERE disease IS NULL GROUP BY age ORDER BY age;

-- title: comparisons that the missing value does not meet
SELECT count(*), count_if(disease <> 'flu'), count_if(disease NOT IN ('flu', 'none')), count(disease) FROM visits WHERE disease <> 'asthma';
SELECT sum(w), sum(w) FILTER (disease <> 'flu'), sum(w) FILTER (disease NOT IN ('flu', 'none')), sum(w) FILTER (disease IS NOT NULL) FROM weighted WHERE disease <> 'asthma';

-- title: lists, patterns, ranges
SELECT count_if(disease IN ('flu', 'cancer')), count_if(disease LIKE '%a%'), count_if(disease BETWEEN 'b' AND 'g'), count_if(disease > 'cold') FROM visits;
SELECT sum(w) FILTER (disease IN ('flu', 'cancer')), sum(w) FILTER (disease LIKE '%a%'), sum(w) FILTER (disease BETWEEN 'b' AND 'g'), sum(w) FILTER (disease > 'cold') FROM weighted;

-- title: a list from a look-up table
SELECT count(*) FROM visits WHERE disease IN (SELECT code FROM memory.main.chapter WHERE chapter = 'lung');
SELECT sum(w) FROM weighted WHERE disease IN (SELECT code FROM memory.main.chapter WHERE chapter = 'lung');

-- title: a look-up table whose column is called like the attribute
SELECT count(*) FROM visits WHERE disease IN (SELECT disease FROM (SELECT code AS disease FROM memory.main.chapter) WHERE disease <> 'none');
SELECT sum(w) FROM weighted WHERE disease IN ('flu', 'asthma', 'cancer');

-- title: an attribute and a public column within one condition
SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' OR age > 50 AND disease <> 'none' GROUP BY ALL ORDER BY ward;
SELECT ward, sum(w) AS n FROM weighted WHERE disease = 'flu' OR age > 50 AND disease <> 'none' GROUP BY ALL ORDER BY ward;

-- title: compared with a public column
SELECT count(*) FROM visits WHERE length(disease) * 10 > age;
SELECT sum(w) FROM weighted WHERE length(disease) * 10 > age;

-- title: all values
SELECT disease, count(*) AS n FROM visits GROUP BY disease ORDER BY disease;
SELECT disease, sum(w) AS n FROM weighted GROUP BY disease ORDER BY disease;

-- title: all values by a public column
SELECT ward, disease, count(*) AS n FROM visits WHERE age < 60 GROUP BY ALL ORDER BY ALL;
SELECT ward, disease, sum(w) AS n FROM weighted WHERE age < 60 GROUP BY ALL ORDER BY ALL;

-- title: groups of values
SELECT CASE WHEN disease IN ('flu', 'asthma') THEN 'lung' ELSE 'other' END AS kind, year(day) AS y, count(*) AS n FROM visits GROUP BY kind, y ORDER BY 1, 2;
SELECT CASE WHEN disease IN ('flu', 'asthma') THEN 'lung' ELSE 'other' END AS kind, year(day) AS y, sum(w) AS n FROM weighted GROUP BY kind, y ORDER BY 1, 2;

-- title: a group of both kinds of columns
SELECT CASE WHEN disease = 'flu' AND age > 40 THEN 'old' ELSE ward END AS g, count(*) AS n FROM visits GROUP BY 1 ORDER BY 1;
SELECT CASE WHEN disease = 'flu' AND age > 40 THEN 'old' ELSE ward END AS g, sum(w) AS n FROM weighted GROUP BY 1 ORDER BY 1;

-- title: filters beside each other, and what is known exactly
SELECT ward, count(*) AS records, count(*) FILTER (WHERE disease = 'flu') AS flu, count(*) FILTER (WHERE disease = 'flu') / count(*) AS share FROM visits GROUP BY ward ORDER BY ward;
SELECT ward, sum(records) FILTER (shown) AS records, sum(w) FILTER (disease = 'flu') AS flu, sum(w) FILTER (disease = 'flu') / sum(records) FILTER (shown) AS share FROM weighted GROUP BY ward ORDER BY ward;

-- title: sums and averages of a public column over records with a value
SELECT ward, sum(cost) AS s, avg(cost) AS m, sum(cost) FILTER (WHERE age > 30) AS old FROM visits WHERE disease = 'flu' GROUP BY ward ORDER BY ward;
SELECT ward, sum(cost * w) AS s, sum(cost * w) / sum(w) AS m, sum(cost * w) FILTER (WHERE age > 30) AS old FROM weighted WHERE disease = 'flu' GROUP BY ward ORDER BY ward;

-- title: sums by CASE, as dashboards write them
SELECT sum(CASE WHEN disease = 'flu' THEN cost ELSE 0 END) AS a, sum(CASE WHEN disease = 'flu' AND age > 30 THEN 1 END) AS b, avg(CASE WHEN disease = 'flu' THEN cost END) AS c, avg(CASE WHEN disease = 'flu' THEN 1.0 ELSE 0 END) AS d, count(CASE WHEN disease = 'flu' THEN 1 END) AS e FROM visits;
SELECT sum(w * cost) FILTER (disease = 'flu') AS a, sum(w) FILTER (disease = 'flu' AND age > 30) AS b, sum(w * cost) FILTER (disease = 'flu') / sum(w) FILTER (disease = 'flu') AS c, sum(w) FILTER (disease = 'flu') / sum(records) FILTER (shown) AS d, sum(w) FILTER (disease = 'flu') AS e FROM weighted;

-- title: sums of values that depend on the attribute
SELECT ward, sum(CASE disease WHEN 'flu' THEN 2 WHEN 'cancer' THEN cost ELSE 0.5 END) AS s, sum(length(disease)) AS l, avg(length(disease) * age) AS m FROM visits GROUP BY ward ORDER BY ward;
SELECT ward, sum(w * CASE disease WHEN 'flu' THEN 2 WHEN 'cancer' THEN cost ELSE 0.5 END) AS s, sum(w * length(disease)) AS l, sum(w * length(disease) * age) / sum(w) FILTER (disease IS NOT NULL) AS m FROM weighted GROUP BY ward ORDER BY ward;

-- title: variance and standard deviation
SELECT var_pop(age) AS v, stddev_samp(age) AS s FROM visits WHERE disease <> 'none';
SELECT sum(w * age * age) / sum(w) - (sum(w * age) / sum(w)) ** 2 AS v, sqrt((sum(w * age * age) - sum(w * age) ** 2 / sum(w)) / (sum(w) - 1)) AS s FROM weighted WHERE disease <> 'none';

-- title: what is known of public columns is beside estimates
SELECT ward, min(age) AS a, max(day) AS b, count(DISTINCT age) AS c, count_if(disease = 'flu') AS n FROM visits WHERE age > 20 GROUP BY ward ORDER BY ward;
SELECT ward, min(age) AS a, max(day) AS b, count(DISTINCT age) AS c, sum(w) FILTER (disease = 'flu') AS n FROM weighted WHERE age > 20 GROUP BY ward ORDER BY ward;

-- title: subtotals
SELECT ward, disease, grouping(ward, disease) AS g, count(*) AS n FROM visits GROUP BY ROLLUP (ward, disease) ORDER BY ALL;
SELECT ward, disease, grouping(ward, disease) AS g, CASE WHEN grouping(disease) = 1 THEN sum(records) FILTER (shown) ELSE sum(w) END AS n FROM weighted GROUP BY ROLLUP (ward, disease) ORDER BY ALL;

-- title: keys that are pairs, among subtotals, and their level
SELECT (disease, age > 40) AS pair, ward, grouping_id(ward, pair) AS g, count(*) AS n FROM visits WHERE disease <> 'none' GROUP BY ROLLUP (pair, ward) ORDER BY ALL;
SELECT pair, ward, grouping_id(ward, pair) AS g, sum(w) AS n FROM (SELECT *, (disease, age > 40) AS pair FROM weighted) WHERE disease <> 'none' GROUP BY ROLLUP (pair, ward) ORDER BY ALL;

-- title: grouping sets and cubes
SELECT ward, age, disease, count(*) AS n FROM visits GROUP BY GROUPING SETS ((ward, disease), (age), ()), CUBE (disease) ORDER BY ALL;
SELECT ward, age, disease, CASE WHEN grouping(disease) = 1 THEN sum(records) FILTER (shown) ELSE sum(w) END AS n FROM weighted GROUP BY GROUPING SETS ((ward, disease), (age), ()), CUBE (disease) ORDER BY ALL;

-- title: windows, arithmetic and limits above the aggregates
SELECT disease, n, n / sum(n) OVER () AS share, row_number() OVER (ORDER BY round(n, 6) DESC, disease) AS place FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) ORDER BY place LIMIT 3;
SELECT disease, n, n / sum(n) OVER () AS share, row_number() OVER (ORDER BY round(n, 6) DESC, disease) AS place FROM (SELECT disease, sum(w) AS n FROM weighted GROUP BY disease) ORDER BY place LIMIT 3;

-- title: windows in the same SELECT
SELECT ward, disease, count(*) / sum(count(*)) OVER (PARTITION BY ward) AS share FROM visits GROUP BY ward, disease QUALIFY row_number() OVER (PARTITION BY ward ORDER BY round(count(*), 6) DESC, disease) <= 2 ORDER BY ALL;
SELECT ward, disease, sum(w) / sum(sum(w)) OVER (PARTITION BY ward) AS share FROM weighted GROUP BY ward, disease QUALIFY row_number() OVER (PARTITION BY ward ORDER BY round(sum(w), 6) DESC, disease) <= 2 ORDER BY ALL;

-- title: a named window
SELECT age, count(*) AS n, sum(count(*)) OVER w AS running FROM visits WHERE disease = 'flu' GROUP BY age WINDOW w AS (ORDER BY age) ORDER BY age;
SELECT age, sum(w) AS n, sum(sum(w)) OVER u AS running FROM weighted WHERE disease = 'flu' GROUP BY age WINDOW u AS (ORDER BY age) ORDER BY age;

-- title: rows of a subquery
SELECT kind, count(*) AS n FROM (SELECT *, age // 20 AS decade, disease IN ('flu', 'asthma') AS kind FROM visits WHERE day < DATE '2024-10-01') AS t WHERE decade > 1 AND disease <> 'cancer' GROUP BY kind ORDER BY kind;
SELECT disease IN ('flu', 'asthma') AS kind, sum(w) AS n FROM weighted WHERE day < DATE '2024-10-01' AND age // 20 > 1 AND disease <> 'cancer' GROUP BY kind ORDER BY kind;

-- title: rows of common table expressions
WITH grown AS (SELECT ward, age, disease AS d FROM visits WHERE age >= 30), ill(w, a, x) AS (SELECT * FROM grown WHERE d IS NOT NULL) SELECT w, count(*) AS n, avg(a) AS m FROM ill WHERE x = 'flu' GROUP BY w ORDER BY w;
SELECT ward AS w, sum(w) AS n, sum(w * age) / sum(w) AS m FROM (SELECT * FROM weighted) WHERE age >= 30 AND disease = 'flu' GROUP BY ward ORDER BY ward;

-- title: counts of common table expressions, used twice
WITH counted AS (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) SELECT a.ward, a.n - b.n AS d FROM counted a JOIN counted b USING (ward) WHERE a.disease = 'flu' AND b.disease = 'none' ORDER BY ward;
WITH counted AS (SELECT ward, disease, sum(w) AS n FROM weighted GROUP BY ALL) SELECT a.ward, a.n - b.n AS d FROM counted a JOIN counted b USING (ward) WHERE a.disease = 'flu' AND b.disease = 'none' ORDER BY ward;

-- title: joined on the attribute
SELECT c.chapter, count(*) AS n, sum(c.points) AS p FROM visits v JOIN memory.main.chapter c ON v.disease = c.code AND v.age > 20 GROUP BY c.chapter ORDER BY ALL;
SELECT c.chapter, sum(w) AS n, sum(w * c.points) AS p FROM weighted v JOIN memory.main.chapter c ON v.disease = c.code AND v.age > 20 GROUP BY c.chapter ORDER BY ALL;

-- title: joined on the attribute from the left
SELECT coalesce(c.chapter, '?') AS k, count(*) AS n, count(c.code) AS m FROM visits AS v LEFT JOIN memory.main.chapter AS c ON c.code = v.disease AND c.points > 2 GROUP BY k ORDER BY ALL;
SELECT coalesce(c.chapter, '?') AS k, sum(w) AS n, coalesce(sum(w) FILTER (c.code IS NOT NULL), 0) AS m FROM weighted AS v LEFT JOIN memory.main.chapter AS c ON c.code = v.disease AND c.points > 2 GROUP BY k ORDER BY ALL;

-- title: joined on a public column
SELECT w.floor, count(*) AS n, sum(cost * w.rate) AS s FROM visits v JOIN memory.main.wards w USING (ward) WHERE disease = 'flu' GROUP BY w.floor ORDER BY 1;
SELECT x.floor, sum(w) AS n, sum(w * cost * x.rate) AS s FROM weighted v JOIN memory.main.wards x USING (ward) WHERE disease = 'flu' GROUP BY x.floor ORDER BY 1;

-- title: joined on a public column from the left, with two tables
SELECT floor, points, count(*) AS n FROM visits LEFT JOIN memory.main.wards ON wards.ward = visits.ward, memory.main.chapter WHERE code = disease GROUP BY ALL ORDER BY ALL;
SELECT floor, points, sum(w) AS n FROM weighted LEFT JOIN memory.main.wards ON wards.ward = weighted.ward, memory.main.chapter WHERE code = disease GROUP BY ALL ORDER BY ALL;

-- title: correlated counts
SELECT w.ward, (SELECT count(*) FROM visits v WHERE v.ward = w.ward AND v.disease = 'flu') AS flu, (SELECT avg(age) FROM visits v WHERE v.ward = w.ward AND v.disease = 'none') AS a FROM memory.main.wards w ORDER BY 1;
SELECT x.ward, (SELECT sum(w) FROM weighted v WHERE v.ward = x.ward AND v.disease = 'flu') AS flu, (SELECT sum(w * age) / sum(w) FROM weighted v WHERE v.ward = x.ward AND v.disease = 'none') AS a FROM memory.main.wards x ORDER BY 1;

-- title: lateral counts
SELECT w.ward, l.n FROM memory.main.wards w, LATERAL (SELECT count(*) AS n FROM visits WHERE ward = w.ward AND disease = 'flu') l ORDER BY 1;
SELECT x.ward, l.n FROM memory.main.wards x, LATERAL (SELECT sum(w) AS n FROM weighted WHERE ward = x.ward AND disease = 'flu') l ORDER BY 1;

-- title: a subquery that depends on the attribute
SELECT ward, count(*) AS n FROM visits WHERE (SELECT points FROM memory.main.chapter c WHERE c.code = disease) > 2 GROUP BY ward ORDER BY ward;
SELECT ward, sum(w) AS n FROM weighted WHERE disease IN ('asthma', 'cancer') GROUP BY ward ORDER BY ward;

-- title: a look-up table chosen by a public column
SELECT count(*) FROM visits WHERE EXISTS (SELECT 1 FROM memory.main.wards w WHERE w.ward = visits.ward) AND disease = 'flu';
SELECT sum(w) FROM weighted WHERE ward IN (SELECT ward FROM memory.main.wards) AND disease = 'flu';

-- title: counts compared with counts
SELECT ward, count(*) AS n FROM visits WHERE disease = 'flu' GROUP BY ward HAVING count(*) > (SELECT count(*) / 10 FROM visits WHERE disease = 'flu') ORDER BY ward;
SELECT ward, sum(w) AS n FROM weighted WHERE disease = 'flu' GROUP BY ward HAVING sum(w) > (SELECT sum(w) / 10 FROM weighted WHERE disease = 'flu') ORDER BY ward;

-- title: set operations above the aggregates
SELECT 'flu' AS d, count(*) AS n FROM visits WHERE disease = 'flu' UNION ALL SELECT 'none', count(*) FROM visits WHERE disease = 'none' ORDER BY 1;
SELECT 'flu' AS d, sum(w) AS n FROM weighted WHERE disease = 'flu' UNION ALL SELECT 'none', sum(w) FROM weighted WHERE disease = 'none' ORDER BY 1;

-- title: qualified names and spellings
SELECT "main"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "main"."visits" WHERE "main"."visits"."Disease" = 'flu' GROUP BY "main"."visits"."ward" ORDER BY "count" DESC, "main"."visits"."ward" ASC;
SELECT ward, sum(w) AS count FROM weighted WHERE disease = 'flu' GROUP BY ward ORDER BY count DESC, ward;

-- title: nothing is chosen
SELECT count(*), sum(cost), avg(cost) FROM visits WHERE age > 1000 AND disease = 'flu';
SELECT 0, NULL, NULL;

-- title: no group is chosen
SELECT ward, count(*) AS n FROM visits WHERE age > 1000 AND disease = 'flu' GROUP BY ward;
SELECT ward, 1 FROM weighted WHERE false;

-- title: two attributes
SELECT ward, count(*) AS n, sum(dose) AS s FROM visits WHERE disease = 'flu' AND dose >= 2 GROUP BY ward ORDER BY ward;
SELECT ward, sum(w) AS n, sum(w * dose) AS s FROM weighted WHERE disease = 'flu' AND dose >= 2 GROUP BY ward ORDER BY ward;

-- title: two attributes, either
SELECT age, count(*) AS n, avg(dose) AS m FROM visits WHERE disease = 'flu' OR dose = 3 GROUP BY age ORDER BY age;
SELECT age, sum(w) AS n, sum(w * dose) / sum(w) AS m FROM weighted WHERE disease = 'flu' OR dose = 3 GROUP BY age ORDER BY age;

-- title: two attributes as groups
SELECT disease, dose % 2 AS odd, count(*) AS n, sum(cost) AS c FROM visits GROUP BY ALL ORDER BY ALL;
SELECT disease, dose % 2 AS odd, sum(w) AS n, sum(w * cost) AS c FROM weighted GROUP BY ALL ORDER BY ALL;

-- title: a numeric attribute
SELECT disease, sum(dose) AS s, avg(dose) AS m, var_pop(dose) AS v FROM visits WHERE age > 30 GROUP BY disease ORDER BY disease;
SELECT disease, sum(w * dose) AS s, sum(w * dose) / sum(w) AS m, sum(w * dose * dose) / sum(w) - (sum(w * dose) / sum(w)) ** 2 AS v FROM weighted WHERE age > 30 GROUP BY disease ORDER BY disease;

-- title: one of two attributes
SELECT dose, count(*) AS n FROM visits WHERE ward <> 'north' GROUP BY dose ORDER BY dose;
SELECT dose, sum(w) AS n FROM weighted WHERE ward <> 'north' GROUP BY dose ORDER BY dose;

-- title: other names for the columns of a subquery
SELECT place, count(*) AS n FROM (SELECT ward, disease, age FROM visits) AS t(place, what) WHERE what = 'flu' AND t.age > 30 GROUP BY place ORDER BY place;
SELECT ward AS place, sum(w) AS n FROM weighted WHERE disease = 'flu' AND age > 30 GROUP BY ward ORDER BY ward;

-- title: columns around a correlated count that are called as columns of its steps might be
SELECT n, (SELECT count(*) + n FROM visits WHERE disease = 'flu' AND age > n * 10) AS c, (SELECT sum(age * weight) FROM visits WHERE disease = 'flu' AND (age + 1 > part OR disease = 'none')) AS s FROM (VALUES (2, 30, 3), (3, 40, 4)) AS t(n, part, weight) ORDER BY n;
SELECT n, (SELECT sum(w) + n FROM weighted WHERE disease = 'flu' AND age > n * 10) AS c, (SELECT sum(w * age * weight) FROM weighted WHERE disease = 'flu' AND (age + 1 > part OR disease = 'none')) AS s FROM (VALUES (2, 30, 3), (3, 40, 4)) AS t(n, part, weight) ORDER BY n;

-- title: sums over no record
SELECT ward, sum(cost) FILTER (WHERE disease = 'flu' AND age = 20 AND cost > 142) AS a, sum(CASE WHEN disease = 'flu' AND upper(disease) = 'x' THEN cost END) AS b, sum(CASE WHEN disease = 'flu' AND age > 90 THEN cost ELSE 0 END) AS c, avg(cost) FILTER (WHERE disease = 'flu' AND age > 90) AS d FROM visits GROUP BY ward ORDER BY ward;
SELECT ward, sum(w * cost) FILTER (disease = 'flu' AND age = 20 AND cost > 142) AS a, NULL AS b, 0 AS c, NULL AS d FROM weighted GROUP BY ward ORDER BY ward;

-- title: a sum over nothing at all
SELECT sum(cost) AS s, count(*) AS n FROM visits WHERE disease = 'flu' AND age > 90;
SELECT sum(w * cost) AS s, coalesce(sum(w), 0) AS n FROM weighted WHERE disease = 'flu' AND age > 90;

-- title: a joined sum of missing values
SELECT disease, sum(points) AS s FROM visits LEFT JOIN memory.main.chapter ON code = disease AND points > 5 GROUP BY disease ORDER BY disease;
SELECT disease, sum(w * points) AS s FROM weighted LEFT JOIN memory.main.chapter ON code = disease AND points > 5 GROUP BY disease ORDER BY disease;

-- title: counts of groups in WITH, added up
WITH c AS (SELECT disease, count(*) AS n FROM visits WHERE age > 30 GROUP BY 1) SELECT sum(n) AS s FROM c WHERE disease <> 'none';
SELECT sum(w) AS s FROM weighted WHERE age > 30 AND disease <> 'none';

-- title: counts of groups in a nameless subquery, added up
SELECT ward, sum(n) AS s FROM (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) WHERE disease <> 'flu' GROUP BY ward ORDER BY ward;
SELECT ward, sum(w) AS s FROM weighted WHERE disease <> 'flu' GROUP BY ward ORDER BY ward;

-- title: a share of all, over values of a look-up table
SELECT count(*) / (SELECT count(*) FROM visits WHERE disease IS NOT NULL) AS s FROM visits WHERE disease IN (SELECT code FROM memory.main.chapter WHERE chapter = 'lung');
SELECT sum(w) FILTER (disease IN ('flu', 'asthma')) / sum(w) FILTER (disease IS NOT NULL) AS s FROM weighted;

-- title: values of an unnested list
SELECT x, count(*) AS n FROM visits, unnest([age, 1]) AS u(x) WHERE disease = 'flu' GROUP BY x ORDER BY x;
SELECT x, sum(w) AS n FROM weighted, unnest([age, 1]) AS u(x) WHERE disease = 'flu' GROUP BY x ORDER BY x;

-- title: levels of keys that need quotes
SELECT "Size of ward", grouping("Size of ward") AS level, count(*) AS n FROM (SELECT ward AS "Size of ward", disease FROM visits) WHERE disease = 'flu' GROUP BY ROLLUP ("Size of ward") ORDER BY ALL;
SELECT ward, grouping(ward) AS level, sum(w) AS n FROM weighted WHERE disease = 'flu' GROUP BY ROLLUP (ward) ORDER BY ALL;

-- title: the day of today
SELECT current_date, count(*) AS n FROM visits WHERE disease = 'flu';
SELECT current_date AS today, sum(w) AS n FROM weighted WHERE disease = 'flu';

-- title: counts in VALUES
VALUES ((SELECT count(*) FROM visits WHERE disease = 'flu'), 1);
SELECT sum(w), 1 FROM weighted WHERE disease = 'flu';

-- title: a view over the release
SELECT disease, count(*) AS n FROM memory.main.adults AS a WHERE a.years < 60 GROUP BY disease ORDER BY disease;
SELECT disease, sum(w) AS n FROM weighted WHERE age >= 30 AND age < 60 GROUP BY disease ORDER BY disease;

-- title: a view over that view
SELECT count(*) AS n FROM memory.main.ill WHERE disease = 'flu';
SELECT sum(w) AS n FROM weighted WHERE age >= 30 AND ward = 'north' AND disease = 'flu';

-- title: a list of values
SELECT DISTINCT disease FROM visits WHERE ward = 'north' ORDER BY disease;
SELECT DISTINCT disease FROM weighted WHERE ward = 'north' ORDER BY disease;

-- title: a list of chosen values
SELECT upper(d) AS up FROM (SELECT disease AS d FROM visits) WHERE d LIKE '%a%' GROUP BY 1 ORDER BY up DESC LIMIT 1;
SELECT DISTINCT upper(disease) AS up FROM weighted WHERE disease LIKE '%a%' ORDER BY up DESC LIMIT 1;

-- title: a list of values of two attributes
SELECT disease, dose FROM visits GROUP BY ALL ORDER BY ALL;
SELECT DISTINCT disease, dose FROM weighted ORDER BY ALL;

-- title: a list of values within a query that counts
SELECT count(*) AS n FROM visits WHERE disease IN (SELECT DISTINCT disease FROM visits WHERE disease > 'b');
SELECT sum(w) AS n FROM weighted WHERE disease > 'b';

-- title: covariance of public columns over records with a value
SELECT covar_pop(cost, age) AS c, regr_count(cost, age) AS n, regr_sxx(cost, age) AS xx FROM visits WHERE disease = 'flu';
SELECT (sum(w * cost * age) - sum(w * cost) * sum(w * age) / sum(w)) / sum(w), sum(w), sum(w * age * age) - sum(w * age) ** 2 / sum(w) FROM weighted WHERE disease = 'flu';

-- title: sums over no record at all
SELECT count(*), sum(1), sum(CASE WHEN disease = 'flu' THEN 1 END), sum(CASE WHEN disease = 'flu' THEN 1 ELSE 0 END), sum(CASE WHEN disease = 'flu' THEN age ELSE 0 END), sum(age), count_if(disease = 'flu') FROM visits WHERE disease = 'flu' AND age > 90;
SELECT coalesce(sum(w), 0), NULL, NULL, NULL, NULL, NULL, 0 FROM weighted WHERE age > 90;

-- title: a condition that is true of all
SELECT ward, count(*) FROM visits WHERE disease = 'flu' OR true GROUP BY ward ORDER BY ward;
SELECT ward, sum(records) FILTER (shown) FROM weighted GROUP BY ward ORDER BY ward;

-- title: rows that are pivoted
PIVOT visits ON disease IN ('flu', 'none') USING count(*) AS n, sum(cost) AS c GROUP BY ward;
SELECT ward, sum(w) FILTER (disease = 'flu'), sum(w * cost) FILTER (disease = 'flu'), sum(w) FILTER (disease = 'none'), sum(w * cost) FILTER (disease = 'none') FROM weighted GROUP BY ward;

-- title: rows that are pivoted to columns that DuckDB names
PIVOT visits ON disease IN ('flu', 'none') USING count(*), sum(cost) GROUP BY ward;
SELECT ward, sum(w) FILTER (disease = 'flu'), sum(w * cost) FILTER (disease = 'flu'), sum(w) FILTER (disease = 'none'), sum(w * cost) FILTER (disease = 'none') FROM weighted GROUP BY ward;

-- title: sums of a condition, and means of dates in seconds
SELECT ward, sum(age > 30) AS old, avg(epoch(day)) / 86400 AS day FROM visits WHERE disease = 'flu' GROUP BY ward ORDER BY ward;
SELECT ward, sum(w) FILTER (age > 30) AS old, sum(epoch(day) * w) / sum(w) / 86400 AS day FROM weighted WHERE disease = 'flu' GROUP BY ward ORDER BY ward;

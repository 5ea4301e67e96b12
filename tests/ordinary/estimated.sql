-- What USE estimated refuses: a question, and after two dashes a part of what it says.

SELECT ward FROM visits WHERE disease = 'flu' -- not real records
SELECT * FROM visits -- not real records
FROM visits -- not real records
FROM visits LIMIT 3 -- not real records|before they
SELECT disease FROM visits ORDER BY disease -- not real records
SELECT EXISTS (SELECT 1 FROM visits WHERE disease = 'flu') -- not real records
SELECT EXISTS (FROM visits) -- not real records
SELECT ward, count(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits WHERE disease = 'flu') GROUP BY ward -- not real records|joined with itself
SELECT 1 WHERE 'flu' IN (SELECT disease FROM visits) -- not real records
SELECT (SELECT age FROM visits WHERE disease = 'flu' LIMIT 1) -- before they|not real records
SELECT count((SELECT age FROM visits LIMIT 1)) FROM visits -- not real records|before they
SELECT DISTINCT ward FROM visits WHERE disease = 'flu' -- before they
SELECT count(*) FROM (SELECT * FROM visits LIMIT 10) -- before they
SELECT count(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 10) -- before they
SELECT count(*) FROM (SELECT * FROM visits USING SAMPLE 10) -- before they
SELECT count(*) FROM visits TABLESAMPLE 10% -- JOIN|before they
SELECT count(*) FROM visits USING SAMPLE 10% -- not real records|before they
SELECT count(*) FROM (SELECT *, row_number() OVER () AS r FROM visits) WHERE r < 5 -- before they
SELECT count(*) FROM (SELECT * FROM visits QUALIFY row_number() OVER () < 5) -- before they
SELECT row_number() OVER () FROM visits -- before they
SELECT count(*) FROM visits WHERE random() < 0.5 -- before they
SELECT disease, count(*) FROM visits WHERE age > 30 AND "random"() < 0.5 GROUP BY disease -- before they
SELECT sum(age) OVER () FROM visits -- .
SELECT count(*) OVER () FROM visits -- .
SELECT max(age) OVER (), count(*) FROM visits -- .
SELECT ward, count(*), sum(count(*)) OVER () FROM visits GROUP BY ward -- .
SELECT count(*), count_low() FROM (SELECT ward, age FROM visits WHERE disease = 'flu') -- SELECT \*
SELECT median(age) FROM (SELECT ward, age FROM visits WHERE disease = 'flu') -- SELECT \*
SELECT count(*) FROM (SELECT age + 1 FROM visits WHERE disease = 'flu') -- SELECT \*
SELECT count(*) FROM (SELECT age AS a, ward AS A FROM visits WHERE disease = 'flu') -- SELECT \*
SELECT count(*) FROM (SELECT ward FROM (SELECT ward, age FROM visits) WHERE age > 30) -- SELECT \*
WITH a AS (SELECT ward, age FROM visits), b AS (SELECT ward FROM a) SELECT count(*) FROM b -- SELECT \*
WITH s AS (SELECT v.ward FROM visits AS v), t AS (SELECT ward FROM s) SELECT ward, count(*) FROM t GROUP BY ward -- SELECT \*
SELECT count(*) FROM (SELECT ward FROM visits) AS t JOIN memory.main.wards USING (ward) -- SELECT \*
SELECT count(*) / (SELECT count(*) FROM visits) FROM (SELECT ward FROM visits WHERE disease = 'flu') AS t -- SELECT \*
SELECT count(*) FROM (SELECT ward FROM visits) AS t WHERE EXISTS (SELECT 1 FROM memory.main.wards AS w WHERE w.ward = t.ward) -- SELECT \*
SELECT avg(n) FROM (SELECT ward, count(*) AS n FROM (SELECT ward, disease FROM visits) AS t GROUP BY ward) -- SELECT \*
SELECT count(*) FROM (SELECT disease COLLATE NOCASE AS d FROM visits) AS t -- SELECT \*
SELECT count(*) FROM (SELECT ward FROM visits SEMI JOIN memory.main.wards USING (ward)) AS t -- LEFT JOIN
SELECT count(*) FROM (SELECT w.ward FROM memory.main.wards AS w SEMI JOIN visits USING (ward)) AS t -- LEFT JOIN
SELECT count(*) FROM (SELECT ward FROM memory.main.wards LEFT JOIN visits USING (ward)) AS t -- LEFT JOIN
SELECT count(*) FROM (SELECT ward, random() AS r FROM visits) WHERE r < 0.5 -- before they
SELECT count(*) FROM (SELECT ward, row_number() OVER () AS r FROM visits) WHERE r < 5 -- before they
SELECT count(*) FROM (SELECT DISTINCT ward, disease FROM visits) AS t -- before they
SELECT count(*) FROM (SELECT ward FROM visits LIMIT 100) AS t -- before they
SELECT count(*) FROM (SELECT ward FROM visits LIMIT 1000000 OFFSET 5) AS t -- before they
SELECT count(*) FROM (SELECT ward FROM visits LIMIT 50%) AS t -- before they
SELECT count(*) FROM (SELECT ward FROM visits USING SAMPLE 10) AS t -- before they
SELECT count(*) FROM (SELECT disease FROM visits UNION ALL SELECT ward FROM visits) AS t -- put together
SELECT count(*) FROM (SELECT ward FROM visits UNION ALL SELECT ward FROM memory.main.wards) AS t -- put together
SELECT count(*) FROM (SELECT a.ward FROM visits AS a JOIN visits AS b USING (ward)) AS t -- joined with itself
WITH t AS (SELECT * FROM visits) SELECT ward FROM t WHERE disease = 'flu' -- not real records
WITH t AS (SELECT * FROM visits) SELECT EXISTS (SELECT 1 FROM t WHERE disease = 'flu') -- not real records
WITH t AS (SELECT * FROM visits), u AS (SELECT * FROM t LIMIT 5) SELECT count(*) FROM u -- before they
WITH RECURSIVE t AS (SELECT * FROM visits UNION ALL SELECT * FROM t WHERE age < 0) SELECT count(*) FROM t -- put together|not real records
SELECT a.disease, count(*) FROM visits a JOIN visits b ON a.age = b.age GROUP BY 1 -- joined with itself
SELECT count(*) FROM visits, visits AS b -- joined with itself
SELECT count(*) FROM (SELECT * FROM visits) AS a JOIN (SELECT * FROM visits) AS b USING (ward) -- joined with itself
WITH v AS (SELECT * FROM visits) SELECT count(*) FROM v AS a JOIN v AS b USING (ward) -- joined with itself
SELECT count(*) FROM memory.main.adults AS a JOIN memory.main.adults AS b USING (age) -- not through another view
SELECT DISTINCT ward, disease FROM visits -- before they
SELECT DISTINCT disease FROM visits WHERE ward = 'north' -- before they
SELECT DISTINCT ON (ward) age FROM visits -- before they
SELECT DISTINCT visits FROM visits -- not real records
SELECT EXISTS (SELECT DISTINCT disease FROM visits WHERE disease = 'flu') -- before they
WITH f AS (SELECT * FROM visits WHERE disease = 'flu') SELECT ward FROM (SELECT DISTINCT ward FROM f) -- not real records
WITH f AS (SELECT * FROM visits WHERE ward = 'north') SELECT disease FROM (SELECT DISTINCT disease FROM f) -- not real records
SELECT ward, count(*) FROM (SELECT w.* FROM visits AS v JOIN memory.main.wards AS w USING (ward)) AS t GROUP BY ward -- SELECT \*
SELECT sum(age ORDER BY age) FROM visits -- leave it out
SELECT ward, sum(age) OVER (), count(*) FROM visits GROUP BY ward, age -- with OVER
SELECT avg(n) OVER () FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) -- with OVER
SELECT stddev(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) -- squares their noise
SELECT kurtosis(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) -- squares their noise
SELECT sum(n * n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) -- squares their noise
SELECT max(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease) -- largest noise
SELECT ward, min(n) AS least FROM (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) GROUP BY ward -- largest noise
WITH c AS (SELECT disease, sum(age) AS total FROM visits GROUP BY disease) SELECT max(total / 2) FROM c -- largest noise
WITH c AS (SELECT disease, count(*) AS n FROM visits GROUP BY disease) SELECT sum(n) FROM c WHERE n > 0 -- largest noise
SELECT sum(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY disease HAVING count(*) > 0) -- largest noise
PIVOT (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) ON disease IN ('flu', 'none') USING sum(n) -- system.main.sum\(n\)
PIVOT (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) ON disease USING sum(n) -- system.main.sum\(n\)
SELECT count(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) -- put together
SELECT disease FROM visits UNION SELECT ward FROM visits -- put together|not real records
SELECT count(*) FROM memory.main.wards LEFT JOIN visits USING (ward) -- LEFT JOIN
SELECT count(*) FROM memory.main.wards RIGHT JOIN visits USING (ward) -- LEFT JOIN
SELECT count(*) FROM visits FULL JOIN memory.main.wards USING (ward) -- LEFT JOIN
SELECT count(*) FROM memory.main.wards SEMI JOIN visits USING (ward) -- LEFT JOIN|count nothing else
SELECT ward FROM memory.main.wards ANTI JOIN visits USING (ward) -- LEFT JOIN|not real records
SELECT ward, (SELECT count(*) FROM memory.main.chapter) FROM visits GROUP BY ward -- .
SELECT count_if((SELECT count(*) FROM memory.main.chapter WHERE code = disease) > 0) FROM visits -- .
SELECT count(*), (SELECT sum(points) FROM memory.main.chapter) FROM visits -- nothing else can be aggregated|count nothing else
SELECT max(disease) FROM visits -- known for public columns of all records alone
SELECT min(age) FROM visits WHERE disease = 'flu' -- known for public columns of all records alone
SELECT min(age) FROM visits AS v WHERE EXISTS (SELECT 1 FROM memory.main.chapter WHERE code = v.disease) -- public columns of all records alone
SELECT ward, max(age), count(*) FROM visits JOIN memory.main.chapter ON code = disease GROUP BY ward -- public columns of all records alone
WITH f AS (SELECT * FROM visits WHERE disease = 'flu') SELECT n FROM (SELECT bool_or(age > 30) AS n FROM f) -- public columns of all records alone|not real records
SELECT min(d), count_if('disease' = 'x') FROM visits AS v(a, b, c, e, d, f) -- public columns of all records alone
SELECT min(d) FROM (SELECT * RENAME (disease AS d) FROM visits) -- public columns of all records alone|not real records
WITH v(a, b, c, e, d, f) AS (SELECT * FROM visits) SELECT min(d) FROM v -- public columns of all records alone|not real records
SELECT min(#5), count_if(disease = 'flu') FROM visits -- public columns of all records alone
SELECT DISTINCT #2 FROM visits WHERE disease <> 'ward' -- before they|not a value
SELECT var_pop(age), count_low() FROM visits -- count_if_low
SELECT median(age) FILTER (WHERE disease = 'flu') FROM visits -- takes no FILTER
SELECT median(day) FROM visits WHERE disease = 'flu' -- of numbers alone
SELECT median(age), count_low() FROM visits WHERE disease = 'flu' -- count_if_low
SELECT median(age) OVER () FROM visits -- with OVER
SELECT list(disease), count(*) FROM visits -- no sum over records
SELECT string_agg(disease, ','), count(*) FROM visits -- no sum over records
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM visits -- quantile_cont
SELECT mode(age) FROM visits WHERE disease = 'flu' -- no sum over records
SELECT approx_count_distinct(disease) FROM visits -- no sum over records
SELECT count(DISTINCT disease) FROM visits -- DISTINCT
SELECT sum(DISTINCT age) FROM visits -- DISTINCT
SELECT count(*) FILTER (WHERE disease = 'flu') FROM visits -- FILTER
SELECT system.main.count(*) FROM visits -- another schema
SELECT main.count(*) FROM visits -- another schema
SELECT system.main.sum(age), count(*) FROM visits -- another schema
SELECT count(*), system.main.count(*) FROM visits -- another schema
SUMMARIZE visits -- not real records
PIVOT visits ON disease USING count(*) -- system.main.sum
CREATE OR REPLACE TEMP TABLE copied AS SELECT ward FROM visits WHERE disease = 'flu' -- not real records
SELECT 'FROM visits', count(*) FROM "visits" WHERE ward IN (SELECT 'north' FROM visits) -- not real records
SELECT ward, $$count($$ FROM visits -- not real records
SELECT ward, $a$($a$ FROM visits -- not real records
SELECT count(*) FROM visits WHERE current_role > 0 AND disease = 'flu' -- are the weights
SELECT count(*) FROM visits AS v WHERE v."current_role" > 0 AND disease = 'flu' -- are the weights
SELECT sum("current_role") FROM visits WHERE disease = 'flu' -- are the weights
SELECT count(*) FROM (SELECT * REPLACE (1 AS "current_role") FROM visits) WHERE disease = 'flu' -- are the weights
SELECT count(*) FROM (SELECT age, 1.0 AS "CURRENT_ROLE" FROM visits WHERE disease = 'flu') -- are the weights
SELECT current_user, count(*) FROM visits GROUP BY ALL -- are the weights
SELECT sum(COLUMNS('.*role')) FROM visits -- COLUMNS
SELECT *, count(*) FROM visits WHERE age + dose > 0 AND ward || disease || cost || day > '' GROUP BY ALL -- not real records
SELECT v.*, count(*) FROM visits AS v GROUP BY ALL -- not real records
SELECT v, count(*) FROM visits AS v GROUP BY v -- not real records
SELECT to_json(v), count(*) FROM visits v GROUP BY 1 -- not real records
SELECT (FROM query('SELECT disease FROM visits LIMIT 1')), count(*) FROM visits -- query()
SELECT (SELECT max(age) FROM query_table('visits')), count(*) FROM visits -- query_table
CREATE VIEW memory.main.seen AS SELECT ward, count(*) FROM visits GROUP BY ward -- view or macro of yours
CREATE OR REPLACE TEMP MACRO seen_too() AS TABLE FROM visits -- view or macro of yours
CREATE TEMP MACRO peek() AS (SELECT age FROM visits LIMIT 1) -- view or macro of yours
SELECT count(*) FROM visits WHERE disease = 'Flu' -- it has asthma, cancer, flu, none
SELECT count_if(disease IN ('flu', 'Cancer')) FROM visits AS v -- Cancer is not a value of disease
SELECT count(*) FROM visits WHERE 7 = dose -- 7 is not a value of dose
SELECT count_if(disease = 'flu'), count_low(), count_high() FROM visits -- count_if_low
SELECT avg(age), count_stderr() FROM visits -- avg_low
SELECT avg(age) FILTER (WHERE disease = 'flu') FROM visits -- takes no FILTER
UPDATE memory.main.wards SET rate = (SELECT count(*) FROM visits) -- CREATE TABLE
SELECT avg(day) FROM visits WHERE disease = 'flu' -- known of numbers alone
SELECT ward, avg_low(day), sum_high(day) FROM visits WHERE disease = 'flu' GROUP BY ward -- known of numbers alone
SELECT sum(disease) FROM visits -- known of numbers alone

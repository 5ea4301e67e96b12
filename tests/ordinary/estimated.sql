-- What USE estimated refuses: a question, and after two dashes a part of what it says.

SELECT ward FROM visits WHERE disease = 'flu' -- no single records
SELECT * FROM visits -- no single records
FROM visits -- no single records
FROM visits LIMIT 3 -- no single records|before they
SELECT disease FROM visits ORDER BY disease -- no single records
SELECT EXISTS (SELECT 1 FROM visits WHERE disease = 'flu') -- no single records
SELECT EXISTS (FROM visits) -- no single records
SELECT ward, count(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits WHERE disease = 'flu') GROUP BY ward -- no single records|joined with itself
SELECT 1 WHERE 'flu' IN (SELECT disease FROM visits) -- no single records
SELECT (SELECT age FROM visits WHERE disease = 'flu' LIMIT 1) -- before they|no single records
SELECT count((SELECT age FROM visits LIMIT 1)) FROM visits -- no single records|before they
SELECT DISTINCT ward FROM visits WHERE disease = 'flu' -- before they
SELECT ward FROM visits GROUP BY ward -- before they
SELECT count(*) FROM (SELECT DISTINCT disease FROM visits) -- before they|count nothing else
SELECT count(*) FROM (SELECT * FROM visits LIMIT 10) -- before they
SELECT count(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 10) -- before they
SELECT count(*) FROM (SELECT * FROM visits USING SAMPLE 10) -- before they
SELECT count(*) FROM visits TABLESAMPLE 10% -- JOIN|before they
SELECT count(*) FROM visits USING SAMPLE 10% -- no single records|before they
SELECT count(*) FROM (SELECT *, row_number() OVER () AS r FROM visits) WHERE r < 5 -- before they
SELECT count(*) FROM (SELECT * FROM visits QUALIFY row_number() OVER () < 5) -- before they
SELECT row_number() OVER () FROM visits -- before they
SELECT count(*) FROM visits WHERE random() < 0.5 -- before they
SELECT disease, count(*) FROM visits WHERE age > 30 AND "random"() < 0.5 GROUP BY disease -- before they
SELECT sum(age) OVER () FROM visits -- .
SELECT count(*) OVER () FROM visits -- .
SELECT max(age) OVER (), count(*) FROM visits -- .
SELECT ward, count(*), sum(count(*)) OVER () FROM visits GROUP BY ward -- .
SELECT count(*) FROM (SELECT ward, age FROM visits WHERE disease = 'flu') -- count nothing else
SELECT sum(age) FROM (SELECT ward, age FROM visits WHERE disease = 'flu') -- count nothing else
SELECT sum(n) FROM (SELECT count(*) AS n FROM visits GROUP BY ward) -- nothing else can be aggregated
WITH t AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward) SELECT sum(n) FROM t -- nothing else can be aggregated
WITH t AS (SELECT * FROM visits) SELECT ward FROM t WHERE disease = 'flu' -- no single records
WITH t AS (SELECT * FROM visits) SELECT EXISTS (SELECT 1 FROM t WHERE disease = 'flu') -- no single records
WITH t AS (SELECT * FROM visits), u AS (SELECT * FROM t LIMIT 5) SELECT count(*) FROM u -- before they
WITH RECURSIVE t AS (SELECT * FROM visits UNION ALL SELECT * FROM t WHERE age < 0) SELECT count(*) FROM t -- put together|no single records
SELECT a.disease, count(*) FROM visits a JOIN visits b ON a.age = b.age GROUP BY 1 -- mbiguous|joined with itself
SELECT count(*) FROM visits, visits AS b -- mbiguous|joined with itself
SELECT count(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) -- put together
SELECT disease FROM visits UNION SELECT ward FROM visits -- put together|no single records
SELECT count(*) FROM memory.main.wards LEFT JOIN visits USING (ward) -- LEFT JOIN
SELECT count(*) FROM memory.main.wards RIGHT JOIN visits USING (ward) -- LEFT JOIN
SELECT count(*) FROM visits FULL JOIN memory.main.wards USING (ward) -- LEFT JOIN
SELECT count(*) FROM memory.main.wards SEMI JOIN visits USING (ward) -- LEFT JOIN|count nothing else
SELECT ward FROM memory.main.wards ANTI JOIN visits USING (ward) -- LEFT JOIN|no single records
SELECT count(*) FROM memory.main.wards -- count nothing else
SELECT ward, (SELECT count(*) FROM memory.main.chapter) FROM visits GROUP BY ward -- .
SELECT count_if((SELECT count(*) FROM memory.main.chapter WHERE code = disease) > 0) FROM visits -- .
SELECT count(*), (SELECT sum(points) FROM memory.main.chapter) FROM visits -- nothing else can be aggregated|count nothing else
SELECT min(age), count(*) FROM visits -- no sum over records
SELECT max(disease) FROM visits -- no sum over records
SELECT median(age) FROM visits WHERE disease = 'flu' -- no sum over records
SELECT list(disease), count(*) FROM visits -- no sum over records
SELECT string_agg(disease, ','), count(*) FROM visits -- no sum over records
SELECT stddev(age), count(*) FROM visits WHERE disease = 'flu' -- no sum over records
SELECT quantile_cont(age, 0.5) FROM visits -- no sum over records
SELECT approx_count_distinct(disease) FROM visits -- no sum over records
SELECT count(DISTINCT disease) FROM visits -- DISTINCT
SELECT sum(DISTINCT age) FROM visits -- DISTINCT
SELECT count(*) FILTER (WHERE disease = 'flu') FROM visits -- FILTER
SELECT system.main.count(*) FROM visits -- another schema
SELECT main.count(*) FROM visits -- another schema
SELECT system.main.sum(age), count(*) FROM visits -- another schema
SELECT count(*), system.main.count(*) FROM visits -- another schema
SELECT "count"(*) FROM visits -- no single records
SUMMARIZE visits -- .
PIVOT visits ON disease USING count(*) -- .
CREATE OR REPLACE TEMP TABLE copied AS SELECT ward FROM visits WHERE disease = 'flu' -- no single records
SELECT $$visits$$, count(*) FROM visits -- dollar
SELECT /* a /* b */ c */ count(*) FROM visits -- .
SELECT 'FROM visits', count(*) FROM "visits" WHERE ward IN (SELECT 'count(*)' FROM visits) -- no single records
SELECT ward, $$count($$ FROM visits -- dollar
SELECT ward, $a$($a$ FROM visits -- dollar
SELECT (SELECT count(*) FROM visits), ward FROM memory.main.seen -- views and macros of your own
SELECT ward FROM memory.main.seen_too() WHERE 1 = (SELECT count(*) / count(*) FROM visits) -- views and macros of your own
SELECT count(*), memory.main.peek() FROM visits -- views and macros of your own|does not name
SELECT count(*) FROM visits WHERE current_role > 0 AND disease = 'flu' -- are the weights
SELECT count(*) FROM visits AS v WHERE v."current_role" > 0 AND disease = 'flu' -- are the weights
SELECT sum("current_role") FROM visits WHERE disease = 'flu' -- are the weights
SELECT count(*) FROM (SELECT * REPLACE (1 AS "current_role") FROM visits) WHERE disease = 'flu' -- are the weights
SELECT count(*) FROM (SELECT age, 1.0 AS "CURRENT_ROLE" FROM visits WHERE disease = 'flu') -- are the weights
SELECT current_user, count(*) FROM visits GROUP BY ALL -- are the weights
SELECT sum(COLUMNS('.*role')) FROM visits -- COLUMNS
SELECT *, count(*) FROM visits WHERE age + dose > 0 AND ward || disease || cost || day > '' GROUP BY ALL -- no single records
SELECT v.*, count(*) FROM visits AS v GROUP BY ALL -- no single records
SELECT v, count(*) FROM visits AS v GROUP BY v -- no single records
SELECT to_json(v), count(*) FROM visits v GROUP BY 1 -- no single records
SELECT (FROM query('SELECT disease FROM visits LIMIT 1')), count(*) FROM visits -- query()
SELECT (SELECT max(age) FROM query_table('visits')), count(*) FROM visits -- query_table

-- Queries over a subquery, or WITH, that passes on some columns of the view: USE estimated answers them as reconstruct does.

SELECT count(*) AS n FROM (SELECT disease FROM visits WHERE ward = 'north') AS t WHERE disease = 'flu'
SELECT disease, count(*) AS n, sum(age) AS a FROM (SELECT disease, age, cost FROM visits) GROUP BY disease
SELECT d, count(*) AS n FROM (SELECT upper(disease) AS d, age FROM visits ORDER BY age LIMIT 1048575) AS "my t" GROUP BY d HAVING count(*) > 20 ORDER BY count(*) DESC
WITH s AS (SELECT * FROM visits WHERE age > 30), r AS (SELECT disease AS diagnosis, age + 1 AS older FROM s) SELECT diagnosis, avg(older) AS o, count_if(older > 50) AS m FROM r GROUP BY 1
SELECT chapter, sum(points) AS p, count(chapter) AS c FROM (SELECT v.disease, k.chapter, k.points FROM visits AS v LEFT JOIN memory.main.chapter AS k ON k.code = v.disease) AS q GROUP BY chapter
SELECT floor, sum(CASE WHEN disease = 'flu' THEN cost ELSE 0 END) AS c FROM (SELECT disease, cost, floor FROM visits JOIN memory.main.wards USING (ward)) AS q GROUP BY ALL
SELECT count(*) AS n FROM (SELECT "disease" AS "d""x", DISEASE AS "Y" FROM "visits") AS "a""b" WHERE "d""x" = 'flu' AND "Y" <> 'none'
SELECT count(*) AS n FROM (SELECT disease FROM visits WHERE disease = 'flu' AND disease = 'none') AS t
SELECT ward, n FROM (SELECT ward, count(*) AS n FROM (SELECT ward FROM visits WHERE disease IS NULL) AS u GROUP BY ward) ORDER BY n LIMIT 2
SELECT age // 20 AS k, count(*) AS n FROM (SELECT age, disease FROM visits) WHERE disease = 'flu' OR age > 40 GROUP BY k
SELECT count(*) AS n FROM (SELECT disease FROM visits WHERE ward IN (SELECT ward FROM memory.main.wards WHERE floor = 'upper')) AS t WHERE disease = 'flu'
SELECT ward, sum(w) AS n FROM (SELECT ward, 1 AS w FROM visits WHERE disease <> 'flu') AS t GROUP BY ward

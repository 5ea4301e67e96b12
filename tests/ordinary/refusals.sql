-- Queries that are not answered, and a part of what is said instead. Nothing here may answer.

-- title: a record's own value
SELECT disease FROM visits;
-- says: truly is

-- title: records chosen by their own value
SELECT age, ward FROM visits WHERE disease = 'flu';
-- says: truly is

-- title: a few records
SELECT * FROM visits WHERE disease = 'flu' LIMIT 5;
-- says: LIMIT before the aggregate

-- title: in order of their own value
SELECT age FROM visits ORDER BY disease;
-- says: truly is

-- title: rows that a subquery passes on
SELECT x FROM (SELECT disease AS x FROM visits);
-- says: truly is

-- title: rows that a common table expression passes on
WITH ill AS (SELECT age FROM visits WHERE disease = 'flu') SELECT age FROM ill;
-- says: truly is

-- title: a record's own value, computed
SELECT upper(disease) FROM visits;
-- says: truly is

-- title: records by their own value, joined
SELECT v.age, c.chapter FROM visits v JOIN memory.main.chapter c ON v.disease = c.code;
-- says: truly is

-- title: the smallest value
SELECT min(disease) FROM visits;
-- says: min is no sum over records

-- title: the largest public value among those with a value
SELECT max(age) FROM visits WHERE disease = 'flu';
-- says: max is no sum over records

-- title: the median of texts
SELECT median(disease) FROM visits;
-- says: "disease" is no number

-- title: one of several quantiles
SELECT quantile_cont(age, [0.25, 0.75])[1] FROM visits WHERE disease = 'flu';
-- says: one of a list of quantiles

-- title: a percentile that is no share
SELECT quantile_cont(age, 90) FROM visits WHERE disease = 'flu';
-- says: in the range

-- title: a quantile beside subtotals
SELECT ward, median(age) FROM visits WHERE disease = 'flu' GROUP BY ROLLUP (ward);
-- says: beside subtotals

-- title: how many different values
SELECT count(DISTINCT disease) FROM visits;
-- says: count(DISTINCT …) is no sum over records

-- title: how many different public values have a value
SELECT ward, count(DISTINCT age) FROM visits WHERE disease = 'flu' GROUP BY ward;
-- says: count(DISTINCT …) is no sum over records

-- title: a sum of different values
SELECT sum(DISTINCT length(disease)) FROM visits;
-- says: sum(DISTINCT …) is no sum over records

-- title: lists
SELECT list(disease) FROM visits;
-- says: list is no sum over records

-- title: texts
SELECT string_agg(ward, ',') FROM visits WHERE disease = 'flu';
-- says: is no sum over records

-- title: the commonest value
SELECT mode(disease) FROM visits;
-- says: mode is no sum over records

-- title: any value
SELECT disease, any_value(ward) FROM visits GROUP BY disease;
-- says: any_value is no sum over records

-- title: the first value
SELECT disease, first(ward) FROM visits GROUP BY disease;
-- says: first is no sum over records

-- title: the record with the largest
SELECT arg_max(disease, age) FROM visits;
-- says: arg_max is no sum over records

-- title: a histogram
SELECT histogram(disease) FROM visits;
-- says: histogram is no sum over records

-- title: whether all
SELECT bool_and(disease = 'flu') FROM visits;
-- says: bool_and is no sum over records

-- title: which wards and values there are
SELECT DISTINCT ward, disease FROM visits;
-- says: DISTINCT

-- title: which wards have a value
SELECT DISTINCT ward FROM visits WHERE disease = 'flu';
-- says: DISTINCT

-- title: which wards and values there are, grouped
SELECT ward, disease FROM visits GROUP BY ALL;
-- says: which groups exist

-- title: which wards have a value, grouped
SELECT ward FROM visits WHERE disease = 'flu' GROUP BY ward ORDER BY ward;
-- says: which groups exist

-- title: different rows before counting
SELECT count(*) FROM (SELECT DISTINCT age, disease FROM visits) WHERE disease = 'flu';
-- says: DISTINCT

-- title: some rows before counting
SELECT count(*) FROM (SELECT * FROM visits LIMIT 100) WHERE disease = 'flu';
-- says: LIMIT before the aggregate

-- title: some rows of a subquery in parentheses
SELECT count(*) FROM ((SELECT * FROM visits) LIMIT 100) AS t WHERE disease = 'flu';
-- says: LIMIT before the aggregate

-- title: rows after others
SELECT count(*) FROM (SELECT * FROM visits OFFSET 10) WHERE disease = 'flu';
-- says: OFFSET before the aggregate

-- title: a sample of the table
SELECT count(*) FROM visits TABLESAMPLE 10% WHERE disease = 'flu';
-- says: sample

-- title: a sample of a subquery
SELECT count(*) FROM (SELECT * FROM visits USING SAMPLE 10%) WHERE disease = 'flu';
-- says: sample

-- title: a sample at the end
SELECT count(*) FROM visits WHERE disease = 'flu' USING SAMPLE 10%;
-- says: SAMPLE

-- title: windows over records
SELECT sum(n) FROM (SELECT row_number() OVER (PARTITION BY ward ORDER BY age) AS n, disease FROM visits) WHERE disease = 'flu';
-- says: a window before the aggregate

-- title: one record of each group
SELECT count(*) FROM (SELECT * FROM visits QUALIFY row_number() OVER (PARTITION BY ward ORDER BY age) = 1) WHERE disease = 'flu';
-- says: QUALIFY before the aggregate

-- title: windows by the value
SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY disease) AS n FROM visits) WHERE n > 3;
-- says: window

-- title: two perturbed tables
SELECT count(*) FROM visits a JOIN visits b ON a.day = b.day WHERE a.disease = 'flu' AND b.disease = 'flu';
-- says: two perturbed tables

-- title: joined by what they truly are
SELECT count(*) FROM visits a JOIN visits b ON a.disease = b.disease;
-- says: two perturbed tables

-- title: an outer join that does not keep the release
SELECT w.ward, count(*) FROM memory.main.wards w LEFT JOIN visits v ON v.ward = w.ward AND v.disease = 'flu' GROUP BY ALL;
-- says: does not keep the release

-- title: a right join
SELECT w.ward, count(*) FROM visits v RIGHT JOIN memory.main.wards w ON v.ward = w.ward WHERE v.disease = 'flu' GROUP BY ALL;
-- says: does not keep the release

-- title: a full join
SELECT count(*) FROM visits v FULL JOIN memory.main.chapter c ON v.disease = c.code;
-- says: does not keep the release

-- title: an as-of join
SELECT count(*) FROM visits v ASOF JOIN (SELECT DATE '2024-03-01' AS d) x ON v.day >= x.d WHERE v.disease = 'flu';
-- says: ASOF JOIN

-- title: a positional join
SELECT count(*) FROM visits v POSITIONAL JOIN memory.main.chapter c WHERE v.disease = 'flu';
-- says: POSITIONAL

-- title: a natural join
SELECT count(*) FROM visits NATURAL JOIN memory.main.wards WHERE disease = 'flu';
-- says: NATURAL

-- title: whether such a record exists
SELECT ward FROM memory.main.wards w WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = w.ward AND v.disease = 'flu');
-- says: exists

-- title: in a list of such records
SELECT ward FROM memory.main.wards WHERE ward IN (SELECT ward FROM visits WHERE disease = 'flu');
-- says: truly is

-- title: compared with every such record
SELECT ward FROM memory.main.wards WHERE rate > ALL (SELECT age FROM visits WHERE disease = 'flu');
-- says: truly is

-- title: one such record
SELECT (SELECT age FROM visits WHERE disease = 'flu' LIMIT 1);
-- says: LIMIT

-- title: the tables that such records belong to
SELECT count(*) FROM memory.main.wards w SEMI JOIN visits v ON v.ward = w.ward AND v.disease = 'flu';
-- says: SEMI JOIN

-- title: rows of two conditions together
SELECT count(*) FROM (SELECT age FROM visits WHERE disease = 'flu' UNION ALL SELECT age FROM visits WHERE disease = 'none');
-- says: UNION

-- title: rows without others
SELECT age FROM visits EXCEPT SELECT age FROM visits WHERE disease = 'flu';
-- says: EXCEPT

-- title: a value outside the domain
SELECT count(*) FROM visits WHERE disease = 'Flu';
-- says: "disease" has no value 'Flu'; it has 'asthma', 'cancer', 'flu', 'none', NULL

-- title: a list with a value outside the domain
SELECT count(*) FROM visits WHERE disease IN ('flu', 'gout');
-- says: has no value 'gout'

-- title: other than a value outside the domain
SELECT count_if(disease <> 'gout') FROM visits;
-- says: has no value 'gout'

-- title: a case outside the domain
SELECT sum(CASE disease WHEN 'gout' THEN 1 ELSE 2 END) FROM visits;
-- says: has no value 'gout'

-- title: compared from the right
SELECT count(*) FROM visits WHERE 'gout' = disease;
-- says: has no value 'gout'

-- title: at random
SELECT count(*) FROM visits WHERE disease = 'flu' AND random() < 0.5;
-- says: random()

-- title: rows of rows
SELECT unnest([1, 2]), count(*) FROM visits WHERE disease = 'flu';
-- says: unnest

-- title: a pivot
SELECT * FROM (PIVOT visits ON disease USING count(*));
-- says: PIVOT

-- title: a pivot without groups
PIVOT visits ON disease USING count(*);
-- says: PIVOT

-- title: the star of a table beside a count
SELECT v.*, count(*) FROM visits AS v WHERE disease = 'flu' GROUP BY ALL;
-- says: name the columns

-- title: a pivot within a WITH
WITH p AS (PIVOT visits ON disease IN ('flu') USING count(*) GROUP BY ward) FROM p;
-- says: PIVOT

-- title: everything that is grouped
SELECT *, count(*) FROM visits WHERE disease = 'flu' GROUP BY ALL;
-- says: *

-- title: columns by pattern
SELECT max(COLUMNS('a.*')) FROM visits WHERE disease = 'flu';
-- says: *

-- title: the row itself
SELECT count(visits) FROM visits WHERE disease = 'flu';
-- says: truly is

-- title: a column that is not grouped
SELECT age, count(*) FROM visits WHERE disease = 'flu' GROUP BY ward;
-- says: GROUP BY

-- title: two statements
SELECT count(*) FROM visits WHERE disease = 'flu'; SELECT 1;
-- says: several statements

-- title: an order by one of two results of the same name
SELECT age, count(*) AS age FROM visits WHERE disease = 'flu' GROUP BY 1 ORDER BY 1 LIMIT 3;
-- says: is ambiguous

-- title: reports that are joined to what is true
SELECT count(*) FROM visits AS a JOIN visits AS b USING (cost) WHERE a.disease = 'flu' AND b.noisy_disease = 'flu';
-- says: vary together

-- title: records chosen by what others report
SELECT count(*) FROM visits WHERE disease = 'flu' AND cost IN (SELECT cost FROM visits WHERE noisy_disease = 'flu');
-- says: vary together

-- title: reports that a subquery hands on
WITH b AS (SELECT cost, noisy_disease AS r FROM visits) SELECT count(*) FROM visits JOIN b USING (cost) WHERE disease = 'flu' AND r = 'flu';
-- says: vary together

-- title: estimates summed over what records report
SELECT sum((SELECT count(*) FROM visits AS a WHERE a.cost = b.cost AND a.disease = 'flu')) FROM visits AS b WHERE b.noisy_disease = 'flu';
-- says: vary together

-- title: rows that a subquery makes of rows
SELECT count(*) FROM (SELECT unnest([age, 1]) AS x, disease FROM visits) AS t JOIN memory.main.chapter ON code = disease;
-- says: rows that are not there one by one

-- title: the places of rows
SELECT count(*) FROM visits WHERE disease = 'flu' AND rowid < 1000;
-- says: rowid is the place of a published row

-- title: a record's own value, by a view of one's own
SELECT disease FROM memory.main.ill;
-- says: truly is

-- title: a misspelt value in a list of values
SELECT DISTINCT disease FROM visits WHERE disease <> 'Flu';
-- says: has no value

-- title: whether a value occurs, by a list of values
SELECT ward FROM memory.main.wards WHERE EXISTS (SELECT DISTINCT disease FROM visits WHERE disease = 'flu');
-- says: DISTINCT

-- title: whether a value occurs, by a list of ones
SELECT DISTINCT 1 FROM visits WHERE disease = 'flu';
-- says: DISTINCT

-- title: values in the order of a public column
SELECT DISTINCT disease FROM visits ORDER BY age;
-- says: DISTINCT

-- title: a total of groups that are chosen by their estimates
SELECT sum(n) FROM (SELECT ward, age, disease, count(*) AS n FROM visits GROUP BY ALL HAVING count(*) > 0);
-- says: chosen by their estimates

-- title: a total of groups that are chosen by their estimates further out
WITH a AS (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL), b AS (SELECT ward, n AS m FROM a) SELECT sum(m) FROM b WHERE m > 0;
-- says: chosen by their estimates

-- title: a sum of squared estimates
SELECT ward, sum(n * n) FROM (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ward, disease) AS c GROUP BY ward;
-- says: would square the noise

-- title: how estimates scatter
SELECT stddev(c.m) FROM (SELECT ward, disease, count(*) FROM visits GROUP BY ward, disease) AS c(w, d, m);
-- says: would square the noise

-- title: how estimates go together
SELECT corr(a, b) FROM (SELECT age, count_if(disease = 'flu') AS a, count_if(disease = 'cancer') AS b FROM visits GROUP BY age);
-- says: would square the noise

-- title: the largest of several estimates
SELECT max(n) FROM (SELECT disease, count(*) AS n FROM visits GROUP BY 1) AS t;
-- says: the one with the most noise

-- title: the smallest of several estimates, of each group
WITH counted AS (SELECT ward, disease, count(*) AS n FROM visits GROUP BY ALL) SELECT ward, min(n) AS m FROM counted GROUP BY ward;
-- says: the one with the most noise

-- title: the largest of several estimates, in a row of its own
WITH counted AS (SELECT disease, count(*) AS n FROM visits GROUP BY ALL) SELECT (SELECT max(n) FROM counted) AS m;
-- says: the one with the most noise

-- title: records changed by their own value
UPDATE visits SET age = 0 WHERE disease = 'flu';
-- says: nobody knows it

-- title: records deleted by their own value
DELETE FROM visits WHERE disease = 'flu';
-- says: nobody knows it

-- title: the middle between two dates
SELECT ward, median(day) FROM visits WHERE disease = 'flu' GROUP BY ward;
-- says: of numbers alone

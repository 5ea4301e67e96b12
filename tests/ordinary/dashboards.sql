-- Queries as tools for dashboards, models and data frames write them, after the forms that they document. The table is
-- visits(age, ward, cost, day, disease, dose), with the attributes disease and dose; chapter and wards are look-up tables.
-- Every query must answer what it would over the true table; after `-- says:` is a part of a refusal instead.

-- tool: Superset
SELECT disease AS disease, COUNT(*) AS count FROM main.visits GROUP BY disease ORDER BY count DESC LIMIT 10000;
SELECT disease AS disease, COUNT(*) AS count FROM main.visits WHERE day >= TIMESTAMP '2024-03-01 00:00:00.000000' AND day < TIMESTAMP '2024-09-01 00:00:00.000000' GROUP BY disease ORDER BY count DESC LIMIT 1000;
SELECT DATE_TRUNC('month', day) AS day, disease AS disease, COUNT(*) AS count FROM main.visits WHERE disease IN ('flu', 'asthma') GROUP BY DATE_TRUNC('month', day), disease ORDER BY count DESC LIMIT 10000;
SELECT ward AS ward, COUNT(*) AS count FROM (SELECT * FROM visits) AS virtual_table WHERE disease = 'flu' GROUP BY ward ORDER BY count DESC LIMIT 100;
SELECT "ward" AS "ward", AVG("cost") AS "AVG(cost)", SUM("cost") AS "SUM(cost)" FROM "visits" WHERE "disease" IN ('flu', 'cancer') GROUP BY "ward" ORDER BY "AVG(cost)" DESC LIMIT 100;
SELECT ward AS ward, SUM(CASE WHEN disease = 'flu' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS "percent flu" FROM visits GROUP BY ward ORDER BY "percent flu" DESC LIMIT 50000;
SELECT disease AS disease, COUNT(*) AS count FROM visits GROUP BY disease HAVING ((COUNT(*) > 10)) ORDER BY count DESC LIMIT 1000;
SELECT DATE_TRUNC('week', day) AS __timestamp, COUNT(*) AS count FROM visits WHERE ((disease = 'flu' AND age > 30)) GROUP BY DATE_TRUNC('week', day) ORDER BY __timestamp ASC LIMIT 50000;
SELECT DATE_TRUNC('month', day) AS day, visits.disease AS disease, COUNT(*) AS count FROM visits JOIN (SELECT disease AS disease__, COUNT(*) AS mme_inner__ FROM visits WHERE disease IS NOT NULL GROUP BY disease ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON disease = disease__ GROUP BY DATE_TRUNC('month', day), visits.disease ORDER BY count DESC LIMIT 10000;
SELECT COUNT(*) AS count FROM visits WHERE disease IS NOT NULL AND ward = 'north';
SELECT COUNT(DISTINCT ward) AS "COUNT_DISTINCT(ward)", COUNT(*) AS count FROM visits WHERE age >= 20 AND age < 60;
SELECT age AS age, disease AS disease, SUM(cost) AS "SUM(cost)" FROM visits WHERE (disease = 'flu' OR disease = 'none') GROUP BY age, disease ORDER BY "SUM(cost)" DESC LIMIT 10000;
SELECT CASE WHEN age < 40 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS age_group, COUNT(*) AS count FROM visits WHERE disease <> 'none' GROUP BY CASE WHEN age < 40 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END ORDER BY count DESC LIMIT 1000;
SELECT disease AS disease, AVG(dose) AS "AVG(dose)" FROM visits WHERE dose > 0 GROUP BY disease ORDER BY "AVG(dose)" DESC LIMIT 100;
SELECT DATE_TRUNC('quarter', day) AS day, SUM(CASE WHEN disease = 'flu' THEN cost ELSE 0 END) AS flu_cost, SUM(cost) AS total_cost FROM visits GROUP BY DATE_TRUNC('quarter', day) ORDER BY flu_cost DESC LIMIT 10000;
SELECT LOWER(disease) AS d, COUNT(*) AS count FROM visits WHERE LOWER(disease) LIKE LOWER('%a%') GROUP BY LOWER(disease) LIMIT 1000;
SELECT ward AS ward, disease AS disease, COUNT(*) AS count FROM (SELECT v.*, w.floor FROM visits v LEFT JOIN memory.main.wards w ON w.ward = v.ward) AS virtual_table WHERE floor = 'upper' GROUP BY ward, disease ORDER BY count DESC LIMIT 1000;
SELECT disease AS disease, COUNT(*) AS count FROM visits WHERE disease NOT IN ('none') GROUP BY disease ORDER BY disease ASC LIMIT 25;
SELECT * FROM (SELECT ward, disease, count(*) AS n FROM visits GROUP BY 1, 2) AS inner_qry WHERE n > 5 ORDER BY n DESC LIMIT 1001;
SELECT COUNT(*) AS rowcount FROM (SELECT disease AS disease, COUNT(*) AS count FROM visits GROUP BY disease) AS rowcount_qry;
SELECT EXTRACT(dow FROM day) AS weekday, disease AS disease, COUNT(*) AS count FROM visits GROUP BY EXTRACT(dow FROM day), disease ORDER BY count DESC LIMIT 10000;
SELECT STDDEV(cost) AS deviation, VAR_POP(cost) AS variance, COUNT(*) AS count FROM visits WHERE disease = 'flu';
SELECT quantile_cont(cost, 0.9) AS p90, ward AS ward FROM visits WHERE disease = 'flu' GROUP BY ward ORDER BY p90 DESC LIMIT 100;
SELECT MEDIAN(dose) AS median_dose FROM visits WHERE ward IN ('north', 'south');
SELECT * FROM visits LIMIT 101;
SELECT disease AS disease FROM visits GROUP BY disease ORDER BY disease ASC LIMIT 1000;
SELECT DISTINCT disease AS disease FROM visits LIMIT 1000;

-- tool: Metabase
SELECT "main"."visits"."disease" AS "disease", COUNT(*) AS "count" FROM "main"."visits" GROUP BY "main"."visits"."disease" ORDER BY "main"."visits"."disease" ASC;
SELECT DATE_TRUNC('month', CAST("main"."visits"."day" AS timestamp)) AS "day", COUNT(*) AS "count" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu' GROUP BY DATE_TRUNC('month', CAST("main"."visits"."day" AS timestamp)) ORDER BY DATE_TRUNC('month', CAST("main"."visits"."day" AS timestamp)) ASC;
SELECT FLOOR(("main"."visits"."age" / 20.0)) * 20.0 AS "age", COUNT(*) AS "count" FROM "main"."visits" WHERE ("main"."visits"."disease" = 'flu') OR ("main"."visits"."disease" = 'cancer') GROUP BY FLOOR(("main"."visits"."age" / 20.0)) * 20.0 ORDER BY FLOOR(("main"."visits"."age" / 20.0)) * 20.0 ASC;
SELECT "main"."visits"."ward" AS "ward", CAST(SUM(CASE WHEN "main"."visits"."disease" = 'flu' THEN 1 ELSE 0.0 END) AS DOUBLE) / NULLIF(CAST(COUNT(*) AS DOUBLE), 0.0) AS "share" FROM "main"."visits" GROUP BY "main"."visits"."ward" ORDER BY "main"."visits"."ward" ASC;
SELECT "source"."disease" AS "disease", SUM("source"."count") AS "sum" FROM (SELECT "main"."visits"."disease" AS "disease", "main"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "main"."visits" GROUP BY "main"."visits"."disease", "main"."visits"."ward") AS "source" GROUP BY "source"."disease" ORDER BY "source"."disease" ASC;
SELECT "source"."ward" AS "ward", "source"."count" AS "count" FROM (SELECT "main"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu' GROUP BY "main"."visits"."ward") AS "source" WHERE "source"."count" > 5 ORDER BY "source"."count" DESC LIMIT 10;
SELECT SUM("main"."visits"."cost") AS "sum", AVG("main"."visits"."cost") AS "avg" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu';
SELECT "main"."visits"."disease" AS "disease", STDDEV_POP("main"."visits"."cost") AS "stddev" FROM "main"."visits" GROUP BY "main"."visits"."disease" ORDER BY "main"."visits"."disease" ASC;
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "main"."visits"."cost") AS "median" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu';
SELECT PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY "main"."visits"."dose") AS "percentile" FROM "main"."visits";
SELECT DATE_TRUNC('month', "main"."visits"."day") AS "day", SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "main"."visits"."day") ASC ROWS UNBOUNDED PRECEDING) AS "count" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu' GROUP BY DATE_TRUNC('month', "main"."visits"."day") ORDER BY DATE_TRUNC('month', "main"."visits"."day") ASC;
SELECT "Chapter"."chapter" AS "Chapter__chapter", COUNT(*) AS "count" FROM "main"."visits" LEFT JOIN memory.main.chapter AS "Chapter" ON "main"."visits"."disease" = "Chapter"."code" GROUP BY "Chapter"."chapter" ORDER BY "Chapter"."chapter" ASC;
SELECT "Wards"."floor" AS "Wards__floor", COUNT(*) AS "count" FROM "main"."visits" LEFT JOIN (SELECT ward AS "ward", floor AS "floor" FROM memory.main.wards) AS "Wards" ON "main"."visits"."ward" = "Wards"."ward" WHERE "main"."visits"."disease" <> 'none' GROUP BY "Wards"."floor" ORDER BY "Wards"."floor" ASC;
SELECT COUNT(*) AS "count" FROM "main"."visits" WHERE ("main"."visits"."disease" <> 'flu' OR "main"."visits"."disease" IS NULL);
SELECT COUNT(*) AS "count" FROM "main"."visits" WHERE LOWER("main"."visits"."disease") LIKE '%flu%';
SELECT COUNT(*) AS "count" FROM "main"."visits" WHERE "main"."visits"."disease" IS NULL OR "main"."visits"."disease" = '';
SELECT SUM(CASE WHEN "main"."visits"."disease" = 'flu' THEN "main"."visits"."cost" ELSE 0.0 END) AS "sum_where" FROM "main"."visits";
SELECT "main"."visits"."ward" AS "ward", "main"."visits"."disease" AS "disease", AVG("main"."visits"."age") AS "avg" FROM "main"."visits" GROUP BY "main"."visits"."ward", "main"."visits"."disease" ORDER BY "main"."visits"."ward" ASC, "main"."visits"."disease" ASC;
SELECT "main"."visits"."dose" AS "dose", COUNT(*) AS "count" FROM "main"."visits" WHERE "main"."visits"."day" >= DATE_TRUNC('month', DATE '2024-06-15') AND "main"."visits"."day" < DATE_TRUNC('month', DATE '2024-11-15') GROUP BY "main"."visits"."dose" ORDER BY "main"."visits"."dose" ASC;
SELECT CASE WHEN "main"."visits"."disease" = 'none' THEN 'well' WHEN "main"."visits"."disease" IS NULL THEN 'unknown' ELSE 'ill' END AS "state", COUNT(*) AS "count" FROM "main"."visits" GROUP BY CASE WHEN "main"."visits"."disease" = 'none' THEN 'well' WHEN "main"."visits"."disease" IS NULL THEN 'unknown' ELSE 'ill' END ORDER BY "state" ASC;
SELECT "source"."month" AS "month", "source"."n" AS "n", LAG("source"."n", 1) OVER (ORDER BY "source"."month" ASC) AS "previous" FROM (SELECT EXTRACT(month FROM "main"."visits"."day") AS "month", COUNT(*) AS "n" FROM "main"."visits" WHERE "main"."visits"."disease" = 'flu' GROUP BY 1) AS "source" ORDER BY "source"."month" ASC;
SELECT COUNT(*) AS "count" FROM (SELECT "main"."visits"."disease" AS "disease", "main"."visits"."age" AS "age" FROM "main"."visits" WHERE "main"."visits"."age" >= 30 LIMIT 1048575) AS "source";
SELECT "main"."visits"."disease" AS "disease", COUNT(*) AS "count", SUM("main"."visits"."cost") AS "sum" FROM "main"."visits" WHERE "main"."visits"."age" BETWEEN 30 AND 50 GROUP BY "main"."visits"."disease" ORDER BY "count" DESC, "main"."visits"."disease" ASC LIMIT 3;
SELECT COALESCE("main"."visits"."disease", 'unknown') AS "disease", COUNT(*) AS "count" FROM "main"."visits" GROUP BY COALESCE("main"."visits"."disease", 'unknown') ORDER BY COALESCE("main"."visits"."disease", 'unknown') ASC;
SELECT SUBSTRING("main"."visits"."disease", 1, 1) AS "initial", COUNT(*) AS "count" FROM "main"."visits" GROUP BY SUBSTRING("main"."visits"."disease", 1, 1) ORDER BY 1 ASC;
SELECT COUNT(*) AS "count", COUNT("main"."visits"."disease") AS "count_2", CAST(COUNT("main"."visits"."disease") AS DOUBLE) / COUNT(*) AS "filled" FROM "main"."visits";
SELECT "main"."visits"."ward" AS "ward", COUNT(DISTINCT "main"."visits"."age") AS "count" FROM "main"."visits" GROUP BY "main"."visits"."ward" ORDER BY "main"."visits"."ward" ASC;
SELECT COUNT(*) AS "count" FROM (SELECT "main"."visits"."disease" AS "disease" FROM "main"."visits" LIMIT 1048575) AS "source" WHERE "source"."disease" = 'flu';
-- says: LIMIT before the aggregate
SELECT COUNT(*) AS "count" FROM (SELECT "main"."visits"."disease" AS "disease" FROM "main"."visits" LIMIT 100) AS "source" WHERE "source"."disease" = 'flu';
-- says: count(DISTINCT
SELECT COUNT(DISTINCT "main"."visits"."disease") AS "count" FROM "main"."visits";

-- tool: Tableau
SELECT "visits"."disease" AS "disease", COUNT(1) AS "cnt:visits:ok" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "visits"."disease" AS "disease", "visits"."ward" AS "ward", SUM("visits"."cost") AS "sum:cost:ok" FROM "main"."visits" "visits" GROUP BY 1, 2;
SELECT SUM(1) AS "sum:Number of Records:ok" FROM "main"."visits" "visits" WHERE ("visits"."disease" = 'flu') HAVING (COUNT(1) > 0);
SELECT DATE_TRUNC('QUARTER', CAST("visits"."day" AS TIMESTAMP)) AS "tqr:day:ok", "visits"."disease" AS "disease", AVG(CAST("visits"."cost" AS DOUBLE)) AS "avg:cost:ok" FROM "main"."visits" "visits" GROUP BY 1, 2;
SELECT EXTRACT(YEAR FROM "visits"."day") AS "yr:day:ok", EXTRACT(MONTH FROM "visits"."day") AS "mn:day:ok", COUNT(1) AS "cnt" FROM "main"."visits" "visits" WHERE (NOT ("visits"."disease" IS NULL)) GROUP BY 1, 2;
SELECT (CASE WHEN ("visits"."disease" = 'flu') THEN 'Flu' ELSE 'Other' END) AS "Calculation_1", COUNT(1) AS "cnt" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "visits"."ward" AS "ward", (SUM((CASE WHEN ("visits"."disease" = 'flu') THEN 1 ELSE 0 END)) / NULLIF(SUM(1), 0)) AS "usr:rate:ok" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "visits"."ward" AS "ward", COUNT(1) AS "cnt" FROM "main"."visits" "visits" INNER JOIN (SELECT "visits"."disease" AS "disease", COUNT(1) AS "$__alias__0" FROM "main"."visits" "visits" WHERE "visits"."disease" IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 2) "t0" ON ("visits"."disease" = "t0"."disease") GROUP BY 1;
SELECT "visits"."disease" AS "disease", SUM("t0"."X_measure__0") AS "sum:lod:ok" FROM "main"."visits" "visits" INNER JOIN (SELECT "visits"."ward" AS "ward", SUM(1) AS "X_measure__0" FROM "main"."visits" "visits" GROUP BY 1) "t0" ON ("visits"."ward" IS NOT DISTINCT FROM "t0"."ward") GROUP BY 1;
SELECT "t0"."ward" AS "ward", "t0"."X_measure__0" AS "avg:lod:ok" FROM (SELECT "visits"."ward" AS "ward", COUNT((CASE WHEN ("visits"."disease" = 'flu') THEN 1 ELSE NULL END)) AS "X_measure__0" FROM "main"."visits" "visits" GROUP BY 1) "t0";
SELECT "visits"."disease" AS "disease", COUNT(1) AS "cnt" FROM "main"."visits" "visits" WHERE ("visits"."disease" IN ('asthma', 'flu')) AND (("visits"."day" >= DATE '2024-02-01') AND ("visits"."day" <= DATE '2024-12-31')) GROUP BY 1 HAVING ((COUNT(1) >= 3) AND (COUNT(1) <= 1000));
SELECT "visits"."dose" AS "dose", COUNT(1) AS "cnt", SUM("visits"."cost") AS "sum:cost:ok" FROM "main"."visits" "visits" WHERE (("visits"."dose" >= 1) AND ("visits"."dose" <= 3)) GROUP BY 1;
SELECT CAST(FLOOR("visits"."age" / 15) AS BIGINT) AS "age (bin)", "visits"."disease" AS "disease", COUNT(1) AS "cnt" FROM "main"."visits" "visits" GROUP BY 1, 2;
SELECT COUNT(1) AS "cnt", MIN("visits"."age") AS "min:age:ok", MAX("visits"."age") AS "max:age:ok" FROM "main"."visits" "visits";
SELECT "visits"."ward" AS "ward", MIN("visits"."age") AS "min:age:ok", SUM((CASE WHEN "visits"."disease" = 'flu' THEN 1 END)) AS "flu" FROM "main"."visits" "visits" GROUP BY 1;
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "visits"."age") AS "med:age:ok", "visits"."disease" AS "disease" FROM "main"."visits" "visits" GROUP BY 2;
SELECT "visits"."disease" AS "disease", STDDEV_SAMP("visits"."cost") AS "std:cost:ok", VAR_SAMP("visits"."cost") AS "var:cost:ok" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "chapter"."chapter" AS "chapter", SUM("visits"."cost") AS "sum:cost:ok" FROM "main"."visits" "visits" INNER JOIN "memory"."main"."chapter" "chapter" ON ("visits"."disease" = "chapter"."code") GROUP BY 1;
SELECT "chapter"."chapter" AS "chapter", "wards"."floor" AS "floor", COUNT(1) AS "cnt" FROM "main"."visits" "visits" LEFT JOIN "memory"."main"."chapter" "chapter" ON ("visits"."disease" = "chapter"."code") LEFT JOIN "memory"."main"."wards" "wards" ON ("visits"."ward" = "wards"."ward") GROUP BY 1, 2;
SELECT "Custom SQL Query"."disease" AS "disease", SUM("Custom SQL Query"."n") AS "sum:n:ok" FROM (SELECT disease, ward, count(*) AS n FROM visits GROUP BY disease, ward) "Custom SQL Query" GROUP BY 1;
SELECT "Custom SQL Query"."disease" AS "disease", COUNT(1) AS "cnt" FROM (SELECT * FROM visits WHERE age > 30) "Custom SQL Query" WHERE ("Custom SQL Query"."ward" = 'north') GROUP BY 1;
SELECT (CASE WHEN (STRPOS(LOWER("visits"."disease"), 'a') > 0) THEN TRUE ELSE FALSE END) AS "has a", COUNT(1) AS "cnt" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "visits"."age" AS "age", COUNT(1) AS "cnt" FROM "main"."visits" "visits" WHERE ("visits"."disease" = 'flu') GROUP BY 1 ORDER BY 1 ASC;
SELECT "visits"."disease" AS "disease", SUM("visits"."cost") / COUNT(1) AS "cost per visit", SUM("visits"."cost" * 1.19) AS "gross" FROM "main"."visits" "visits" GROUP BY 1;
SELECT "visits"."disease" AS "disease", COUNT("visits"."dose") AS "cnt:dose:ok", SUM("visits"."dose") AS "sum:dose:ok" FROM "main"."visits" "visits" GROUP BY 1 ORDER BY 3 DESC;
SELECT CAST("visits"."day" AS DATE) AS "day", COUNT(1) AS "cnt" FROM "main"."visits" "visits" WHERE "visits"."disease" = 'flu' AND "visits"."day" BETWEEN DATE '2024-01-01' AND DATE '2024-01-10' GROUP BY 1;
SELECT "visits"."disease" AS "disease" FROM "main"."visits" "visits" GROUP BY 1;
-- says: min is no sum
SELECT MIN("visits"."dose") AS "min:dose:ok", MAX("visits"."dose") AS "max:dose:ok" FROM "main"."visits" "visits";

-- tool: Power BI
select "disease", count(*) as "C1" from (select "disease", "ward" from "main"."visits") as "ITBL" group by "disease";
select "_"."disease", "_"."a0" from (select "rows"."disease" as "disease", sum("rows"."cost") as "a0" from "main"."visits" "rows" group by "rows"."disease") "_" where not "_"."a0" is null order by "_"."disease" limit 1000001;
select "_"."ward", "_"."a0", "_"."a1" from (select "rows"."ward" as "ward", count(1) as "a0", avg(cast("rows"."cost" as double)) as "a1" from (select "_"."ward", "_"."cost" from "main"."visits" "_" where "_"."disease" = 'flu') "rows" group by "rows"."ward") "_" limit 1000001;
select count(1) as "a0" from (select "_"."disease" from "main"."visits" "_" where "_"."disease" = 'flu' or "_"."disease" = 'asthma') "rows";
select sum("rows"."cost") as "a0" from (select "_"."cost" as "cost" from "main"."visits" "_" where "_"."disease" = 'flu' and ("_"."age" >= 30 and "_"."age" < 60)) "rows";
select "rows"."disease" as "disease", "rows"."ward" as "ward", count(*) as "a0" from (select "disease", "ward", "age" from "main"."visits" where "age" > 20) "rows" group by "disease", "ward" order by "a0" desc limit 501;
select "_"."chapter" as "c1", count(*) as "a0" from (select "$Outer"."disease", "$Inner"."chapter" from "main"."visits" "$Outer" left outer join "memory"."main"."chapter" "$Inner" on ("$Outer"."disease" = "$Inner"."code")) "_" group by "_"."chapter";
select "_"."floor", "_"."a0" from (select "rows"."floor" as "floor", sum("rows"."cost") as "a0" from (select "$Outer"."cost", "$Outer"."disease" as "d", "$Inner"."floor" from "main"."visits" "$Outer" inner join "memory"."main"."wards" "$Inner" on ("$Outer"."ward" = "$Inner"."ward")) "rows" where "rows"."d" = 'flu' group by "rows"."floor") "_" where not "_"."a0" is null;
select year("day") as "c0", month("day") as "c1", count(*) as "a0" from "main"."visits" where "disease" is not null group by year("day"), month("day") order by 1, 2;
select "disease", cast(count(*) as double) / (select count(*) from "main"."visits") as "share" from "main"."visits" group by "disease";
select "disease", count(*) * 100.0 / sum(count(*)) over () as "% of total" from "main"."visits" group by "disease" order by 2 desc;
select "ward", "disease", count(*) / sum(count(*)) over (partition by "ward") as "% of row" from "main"."visits" group by "ward", "disease" order by 1, 2;
select "t"."disease", "t"."n", rank() over (order by "t"."n" desc) as "rank" from (select "disease", count(*) as "n" from "main"."visits" where "ward" = 'south' group by "disease") "t" order by 3;
select case when "dose" >= 2 then 'high' else 'low' end as "level", count(*) as "a0", avg("cost") as "a1" from "main"."visits" group by case when "dose" >= 2 then 'high' else 'low' end;
select sum(case when "disease" = 'flu' then "cost" else 0 end) - sum(case when "disease" = 'none' then "cost" else 0 end) as "difference" from "main"."visits";
select "ward", sum(case when "disease" = 'flu' then 1 else 0 end) as "flu", sum(case when "disease" = 'asthma' then 1 else 0 end) as "asthma", sum(case when "disease" = 'cancer' then 1 else 0 end) as "cancer" from "main"."visits" group by "ward" order by "ward";
select count(*) as "a0", count("disease") as "a1", sum("dose") as "a2", avg("dose") as "a3" from "main"."visits" where "ward" in ('north', 'south');
select "_"."disease", "_"."a0" from (select "disease", count(*) as "a0" from "main"."visits" group by "disease") "_" where "_"."a0" >= 10 order by "_"."a0" desc;
select percentile_cont(0.5) within group (order by "cost") as "median" from "main"."visits" where "disease" = 'cancer';
select sum("n") as "a0" from (select "ward", "disease", count(*) as "n" from "main"."visits" where "age" > 30 group by "ward", "disease") "t" where "disease" = 'flu';
-- says: the one with the most noise
select avg("n") as "a0", max("n") as "a1" from (select "ward", count(*) as "n" from "main"."visits" where "disease" = 'flu' group by "ward") "t";
select "disease", "dose", count(*) as "n", sum("cost") as "c" from "main"."visits" group by grouping sets (("disease", "dose"), ("disease"), ());
select "disease", sum("cost") as "c" from "main"."visits" group by rollup ("disease") order by "disease" nulls last;
select date_part('year', "day") as "y", count(*) filter (where "disease" = 'flu') as "flu", count(*) as "n" from "main"."visits" group by 1 order by 1;
select "v"."disease", count(*) as "n" from "main"."visits" as "v", "memory"."main"."wards" as "w" where "v"."ward" = "w"."ward" and "w"."rate" > 2 group by "v"."disease";
select (select count(*) from "main"."visits" where "disease" = 'flu') as "flu", (select count(*) from "main"."visits" where "disease" = 'none') as "none";
select 'flu' as "d", count(*) as "n" from "main"."visits" where "disease" = 'flu' union all select 'cancer', count(*) from "main"."visits" where "disease" = 'cancer';
-- says: DISTINCT
select count(*) as "a0" from (select distinct "disease", "ward" from "main"."visits") "rows" where "disease" = 'flu';

-- tool: dbt
with source as (select * from visits), renamed as (select disease as diagnosis, age, ward as unit from source), final as (select diagnosis, count(*) as visits_count, avg(age) as average_age from renamed group by 1) select * from final order by diagnosis;
with source as (select * from visits), counted as (select ward, disease, count(*) as n from source group by 1, 2), shares as (select ward, disease, n, n / sum(n) over (partition by ward) as share from counted) select * from shares order by ward, disease;
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (select disease from visits where disease is null) dbt_internal_test;
with all_values as (select disease as value_field, count(*) as n_records from visits group by disease) select * from all_values where value_field not in ('flu', 'none', 'asthma');
select count(*) as failures from (with child as (select disease as from_field from visits where disease is not null), parent as (select code as to_field from memory.main.chapter) select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null) dbt_internal_test;
select ward, sum(case when disease = 'flu' then 1 else 0 end) as "flu", sum(case when disease = 'none' then 1 else 0 end) as "none" from visits group by ward order by ward;
select date_trunc('month', day) as month, count(*) as visits, sum(cost) as cost, sum(cost) / nullif(count(*), 0) as cost_per_visit from visits where disease = 'flu' group by 1 order by 1;
with monthly as (select date_trunc('month', day) as month, count(*) as n from visits where disease = 'flu' group by 1) select month, n, n - lag(n) over (order by month) as change, sum(n) over (order by month rows between 2 preceding and current row) as three_months from monthly order by month;
with base as (select *, case when age < 40 then 'under 40' else '40 and over' end as age_group from visits) select age_group, disease, count(*) as n from base group by all order by all;
with flu as (select ward, count(*) as n from visits where disease = 'flu' group by ward), everybody as (select ward, count(*) as n from visits group by ward) select e.ward, coalesce(f.n, 0) / e.n as rate from everybody e left join flu f using (ward) order by 1;
with flu as (select ward, count(*) as n from visits where disease = 'flu' group by 1), well as (select ward, count(*) as n from visits where disease = 'none' group by 1) select flu.ward, flu.n / well.n as ratio from flu join well on flu.ward = well.ward order by 1;
with joined as (select v.*, c.chapter, c.points from visits v left join memory.main.chapter c on v.disease = c.code) select chapter, count(*) as n, sum(points) as points from joined group by chapter order by chapter nulls first;
with unioned as (select 'a' as part, count(*) as n from visits where disease = 'flu' union all select 'b' as part, count(*) as n from visits where disease = 'none') select * from unioned order by part;
select disease, count(*) as n, round(100.0 * count(*) / sum(count(*)) over (), 2) as pct from visits group by disease order by n desc;
select subq_3.ward, sum(subq_3.visits) as visits from (select v.ward as ward, 1 as visits from main.visits v where v.disease = 'flu') subq_3 group by subq_3.ward;
select subq_2.metric_time__month, subq_2.flu / nullif(subq_2.total, 0) as flu_rate from (select date_trunc('month', day) as metric_time__month, sum(case when disease = 'flu' then 1 else 0 end) as flu, sum(1) as total from main.visits group by date_trunc('month', day)) subq_2 order by 1;
with ranked as (select disease, count(*) as n, row_number() over (order by count(*) desc, disease) as place from visits where disease is not null group by disease) select disease, place from ranked where place <= 2 order by place;
select count_if(disease = 'flu') as flu, count_if(disease is null) as missing, count_if(disease is null) * 1.0 / count(*) as missing_share from visits;
select disease, avg(cost) as mean_cost, median(cost) as median_cost, stddev(cost) as sd_cost from visits where disease in ('flu', 'none') group by disease order by disease;
with totals as (select count(*) as n from visits where disease is not null) select disease, count(*) / (select n from totals) as share from visits where disease is not null group by disease order by disease;
select ward, disease, count(*) as n from visits group by cube (ward, disease) order by all;
select coalesce(disease, 'all') as disease, count(*) as n from visits where disease is not null group by rollup (disease) order by 1;
with params as (select date '2024-06-01' as start_day) select count(*) as n from visits, params where day >= start_day and disease = 'flu';
select count(*) as n from visits where disease in (select code from memory.main.chapter where chapter = 'lung');
select w.ward, (select count(*) from visits v where v.ward = w.ward and v.disease = 'flu') as n from memory.main.wards w order by w.ward;
select strftime(day, '%Y-%m') as month, disease, count(*) as n from visits group by all order by all;
-- says: truly is
select disease from visits where disease is null;
-- says: two perturbed tables
select count(*) as n from visits a join visits b on a.day = b.day and a.disease = b.disease;

-- tool: ibis
SELECT "t0"."disease", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1;
SELECT * FROM (SELECT "t0"."disease", COUNT(*) AS "disease_count" FROM "visits" AS "t0" GROUP BY 1) AS "t1" ORDER BY "t1"."disease_count" DESC LIMIT 3;
SELECT "t1"."ward", COUNT(*) AS "CountStar()" FROM (SELECT * FROM "visits" AS "t0" WHERE "t0"."disease" = 'flu') AS "t1" GROUP BY 1;
SELECT COUNT(*) FILTER (WHERE "t0"."disease" = 'flu') AS "flu", AVG("t0"."cost") FILTER (WHERE "t0"."disease" = 'flu') AS "cost" FROM "visits" AS "t0";
SELECT "t1"."disease", "t1"."n", "t1"."n" / SUM("t1"."n") OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS "share" FROM (SELECT "t0"."disease", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1) AS "t1";
SELECT SUM(CAST("t0"."disease" = 'flu' AS BIGINT)) AS "flu" FROM "visits" AS "t0";
SELECT AVG(CAST("t0"."disease" = 'flu' AS DOUBLE)) AS "share" FROM "visits" AS "t0" WHERE NOT ("t0"."disease" IS NULL);
SELECT "t0"."ward", SUM(IF("t0"."disease" = 'flu', "t0"."cost", 0)) AS "flu_cost" FROM "visits" AS "t0" GROUP BY "t0"."ward";
SELECT COUNT(*) AS "n" FROM "visits" AS "t0" WHERE "t0"."disease" IN ('flu', 'asthma') AND "t0"."age" > CAST(30 AS TINYINT);
SELECT "t2"."chapter", COUNT(*) AS "n" FROM (SELECT "t0"."age", "t0"."disease", "t1"."chapter" FROM "visits" AS "t0" INNER JOIN "memory"."main"."chapter" AS "t1" ON "t0"."disease" = "t1"."code") AS "t2" GROUP BY 1;
SELECT "t1"."decade", "t1"."disease", COUNT(*) AS "n", SUM("t1"."cost") AS "cost" FROM (SELECT "t0"."disease", "t0"."cost", CAST(FLOOR("t0"."age" / CAST(10 AS TINYINT)) AS BIGINT) AS "decade" FROM "visits" AS "t0") AS "t1" GROUP BY 1, 2 ORDER BY "t1"."decade" ASC;
SELECT VAR_SAMP("t0"."cost") AS "v", STDDEV_POP("t0"."age") AS "s" FROM "visits" AS "t0" WHERE "t0"."disease" <> 'none';
SELECT QUANTILE_CONT("t0"."cost", 0.25) AS "q1", QUANTILE_CONT("t0"."cost", 0.75) AS "q3" FROM "visits" AS "t0" WHERE "t0"."disease" = 'flu';
SELECT MEDIAN("t0"."age") AS "m" FROM "visits" AS "t0" WHERE "t0"."dose" = 2;
SELECT CASE "t0"."disease" WHEN 'flu' THEN 'lung' WHEN 'asthma' THEN 'lung' ELSE 'other' END AS "kind", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1;
SELECT "t0"."disease" IS NULL AS "missing", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1;
SELECT "t0"."ward", "t0"."disease", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1, 2 HAVING COUNT(*) > CAST(5 AS TINYINT);
SELECT DATE_TRUNC('MONTH', "t0"."day") AS "month", COUNT(*) AS "n" FROM "visits" AS "t0" WHERE "t0"."disease" LIKE '%l%' GROUP BY 1 ORDER BY "month" ASC;
SELECT "t1"."ward", "t1"."n", SUM("t1"."n") OVER (ORDER BY "t1"."ward" ASC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS "running" FROM (SELECT "t0"."ward", COUNT(*) AS "n" FROM "visits" AS "t0" WHERE "t0"."disease" = 'flu' GROUP BY 1) AS "t1" ORDER BY "t1"."ward" ASC;
SELECT LENGTH("t0"."disease") AS "l", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1 ORDER BY 1;
SELECT SUM("t0"."dose" * "t0"."cost") AS "s", SUM("t0"."dose" * "t0"."cost") / SUM("t0"."cost") AS "weighted" FROM "visits" AS "t0" WHERE "t0"."disease" = 'flu';
SELECT COALESCE("t0"."disease", 'missing') AS "d", COUNT(*) AS "n" FROM "visits" AS "t0" GROUP BY 1;
SELECT COUNT("t0"."disease") AS "filled", COUNT(*) AS "n" FROM "visits" AS "t0";
SELECT * FROM (SELECT "t0"."ward", COUNT(*) AS "n" FROM "visits" AS "t0" WHERE "t0"."disease" = 'flu' GROUP BY 1) AS "t1" INNER JOIN "memory"."main"."wards" AS "t2" ON "t1"."ward" = "t2"."ward";
SELECT COVAR_POP("t0"."age", "t0"."age") AS "c", COUNT(*) AS "n" FROM "visits" AS "t0";
-- says: mode is no sum
SELECT MODE("t0"."disease") AS "m" FROM "visits" AS "t0";

-- tool: Looker
SELECT visits.disease AS "visits.disease", COUNT(*) AS "visits.count" FROM main.visits AS visits GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
SELECT DATE_TRUNC('month', visits.day) AS "visits.day_month", COALESCE(SUM(visits.cost), 0) AS "visits.total_cost" FROM main.visits AS visits WHERE (visits.disease = 'flu') GROUP BY 1 ORDER BY 1 DESC LIMIT 500;
SELECT visits.ward AS "visits.ward", COUNT(CASE WHEN visits.disease = 'flu' THEN 1 ELSE NULL END) AS "visits.flu", 1.0 * COUNT(CASE WHEN visits.disease = 'flu' THEN 1 ELSE NULL END) / NULLIF(COUNT(*), 0) AS "visits.rate" FROM main.visits AS visits GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
SELECT CASE WHEN visits.age < 30 THEN 'Below 30' WHEN visits.age >= 30 AND visits.age < 50 THEN '30 to 49' ELSE '50 or Above' END AS "visits.age_tier", COUNT(*) AS "visits.count" FROM main.visits AS visits WHERE ((visits.disease <> 'none' OR visits.disease IS NULL)) GROUP BY 1 ORDER BY 1 LIMIT 500;
SELECT chapter.chapter AS "chapter.chapter", COUNT(*) AS "visits.count" FROM main.visits AS visits LEFT JOIN memory.main.chapter AS chapter ON visits.disease = chapter.code GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
SELECT COUNT(*) AS "visits.count", AVG(visits.cost) AS "visits.average_cost" FROM main.visits AS visits WHERE (visits.disease) IN ('flu', 'cancer') AND ((visits.day >= TIMESTAMP '2024-02-01') AND (visits.day < TIMESTAMP '2024-10-01')) LIMIT 500;
WITH flu_by_ward AS (SELECT ward, COUNT(*) AS flu FROM main.visits WHERE disease = 'flu' GROUP BY 1) SELECT flu_by_ward.ward AS "flu_by_ward.ward", COALESCE(SUM(flu_by_ward.flu), 0) AS "flu_by_ward.flu" FROM flu_by_ward GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
SELECT CASE WHEN visits.disease = 'flu' THEN 'Yes' ELSE 'No' END AS "visits.is_flu", COUNT(*) AS "visits.count" FROM main.visits AS visits GROUP BY 1 ORDER BY 1 LIMIT 500;
SELECT visits.disease AS "visits.disease", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY visits.cost) AS "visits.median_cost" FROM main.visits AS visits WHERE visits.disease IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT 500;
SELECT * FROM (SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) AS z___pivot_row_rank FROM (SELECT *, MIN(z___rank) OVER (PARTITION BY "visits.ward") AS z___min_rank FROM (SELECT *, RANK() OVER (ORDER BY "visits.disease", "visits.ward") AS z___rank FROM (SELECT visits.disease AS "visits.disease", visits.ward AS "visits.ward", COUNT(*) AS "visits.count" FROM main.visits AS visits WHERE visits.disease IS NOT NULL GROUP BY 1, 2) ww) bb) xx) zz ORDER BY z___rank LIMIT 500;

-- tool: Grafana
SELECT date_trunc('month', day) AS "time", count(*) AS "flu" FROM visits WHERE disease = 'flu' AND day BETWEEN TIMESTAMP '2024-01-01T00:00:00Z' AND TIMESTAMP '2024-12-31T00:00:00Z' GROUP BY 1 ORDER BY 1;
SELECT time_bucket(INTERVAL '7 days', day) AS "time", disease AS metric, count(*) AS value FROM visits WHERE disease IN ('flu', 'cancer') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FILTER (WHERE disease = 'flu')::DOUBLE / count(*) AS "value" FROM visits WHERE ward IN ('north', 'south');
SELECT ward AS metric, sum(cost) AS value FROM visits WHERE disease ~ '^(flu|asthma)$' GROUP BY ward ORDER BY value DESC LIMIT 5;
SELECT epoch(date_trunc('month', day)) AS time_sec, avg(cost) AS value FROM visits WHERE disease = 'flu' GROUP BY 1 ORDER BY 1;

-- tool: Evidence
select disease as name, count(*) as value from visits where disease is not null group by all order by value desc;
select ward, count(*) filter (disease = 'flu') as flu_num0, flu_num0 / count(*) as flu_pct1 from visits group by ward order by ward;
select date_trunc('month', day) as month, disease, sum(cost) as cost_usd from visits where disease in ('flu', 'none') group by all order by month, disease;
from visits select disease, count(*) as n group by disease order by n desc limit 3;
select disease, count(*) as n, sum(n) over (order by n desc, disease) / sum(n) over () as cumulative from (select disease, count(*) as n from visits group by disease) group by disease, n order by n desc, disease;
select count(*) as n, avg(age) as age, 'flu' as disease from visits where disease = 'flu' union all by name select 'none' as disease, count(*) as n, avg(age) as age from visits where disease = 'none';
pivot (select ward, disease, count(*) as n from visits group by all) on disease using sum(n) group by ward;
with t as (select disease, count(*) as n from visits group by disease) select (select n from t where disease = 'flu') - (select n from t where disease = 'none') as more;

-- tool: Streamlit and pandas
SELECT disease, ward, COUNT(*) AS n FROM visits GROUP BY disease, ward ORDER BY disease NULLS LAST, ward;
SELECT age, AVG(CASE WHEN disease = 'flu' THEN 1.0 ELSE 0.0 END) AS share FROM visits GROUP BY age ORDER BY age;
SELECT disease, COUNT(*) AS n, AVG(age) AS age_mean, STDDEV(age) AS age_std, QUANTILE_CONT(age, 0.25) AS q1, QUANTILE_CONT(age, 0.75) AS q3 FROM visits GROUP BY disease ORDER BY disease;
SELECT SUM((disease = 'flu')::INT) AS flu, SUM((disease = 'none')::INT) AS none, COUNT(*) AS n FROM visits WHERE ward = 'north';
SELECT corr_side, COUNT(*) AS n FROM (SELECT CASE WHEN cost > 50 THEN 'dear' ELSE 'cheap' END AS corr_side, disease FROM visits) WHERE disease = 'flu' GROUP BY corr_side ORDER BY corr_side;
SELECT DAYNAME(day) AS weekday, COUNT(*) AS n FROM visits WHERE disease <> 'none' GROUP BY 1 ORDER BY n DESC, 1;
SELECT ward, disease, SUM(cost) AS cost FROM visits WHERE disease IN ('flu', 'none') GROUP BY ROLLUP (ward, disease) ORDER BY ward, disease;
SELECT CAST(COUNT(*) AS BIGINT) AS n, ROUND(AVG(cost), 2) AS mean FROM visits WHERE disease = 'flu';
SELECT ward, COUNT(*) AS n FROM visits WHERE disease = 'flu' AND (day, age) >= (DATE '2024-02-01', 30) GROUP BY ward ORDER BY ward;

-- tool: Grafana variables and alerts
SELECT count(*) > 5 AS firing FROM visits WHERE disease = 'flu' AND day >= DATE '2024-03-01';
SELECT ward FROM visits GROUP BY ward ORDER BY ward;

-- tool: dbplyr
SELECT disease, COUNT(*) AS n FROM visits GROUP BY disease ORDER BY n DESC LIMIT 6;
SELECT q01.* FROM (SELECT ward, AVG(cost) AS mean_cost, COUNT(*) AS n FROM (SELECT visits.* FROM visits WHERE (disease = 'flu')) q01 GROUP BY ward) q01 WHERE (n > 10.5);
SELECT ward, SUM(CASE WHEN (disease = 'flu') THEN 1 WHEN NOT (disease = 'flu') THEN 0 END) AS flu FROM visits GROUP BY ward;
SELECT DISTINCT disease FROM visits;
SELECT COUNT(*) AS n FROM (SELECT DISTINCT disease FROM visits) q01;
SELECT disease, n, n / SUM(n) OVER () AS share FROM (SELECT disease, COUNT(*) AS n FROM visits GROUP BY disease) q01;
SELECT floor, COUNT(*) AS n FROM (SELECT visits.*, floor FROM visits LEFT JOIN memory.main.wards ON (visits.ward = wards.ward)) q01 WHERE (disease IN ('flu', 'cancer')) GROUP BY floor;
SELECT ward, CORR(cost, age) AS r, COVAR_SAMP(cost, age) AS c FROM visits WHERE (disease = 'none') GROUP BY ward;
SELECT ward, QUANTILE_DISC(cost, [0.25, 0.5, 0.75]) AS quartiles FROM visits WHERE (disease = 'none') GROUP BY ward;
SELECT ward, REGR_SLOPE(cost, age) AS slope, REGR_INTERCEPT(cost, age) AS intercept, REGR_R2(cost, age) AS r2 FROM visits WHERE (disease <> 'none') GROUP BY ward;

-- tool: SQLMesh
SELECT COUNT(*) FROM (SELECT * FROM visits AS visits WHERE disease IS NULL AND TRUE) AS audit;
WITH counted AS (SELECT CAST(visits.ward AS TEXT) AS ward, CAST(COUNT(*) AS BIGINT) AS n FROM visits AS visits WHERE visits.disease = 'flu' GROUP BY visits.ward) SELECT counted.ward AS ward, counted.n AS n FROM counted AS counted;
SELECT visits.ward AS ward, COUNT(CASE WHEN visits.disease = 'flu' THEN visits.age ELSE NULL END) AS flu, COUNT(CASE WHEN visits.disease = 'flu' THEN visits.age ELSE NULL END) / NULLIF(COUNT(visits.age), 0) AS ratio FROM visits AS visits GROUP BY visits.ward;
SELECT CAST(DATE_TRUNC('MONTH', visits.day) AS DATE) AS month, visits.disease AS disease, SUM(visits.cost) AS cost FROM visits AS visits WHERE visits.day BETWEEN CAST('2024-02-01' AS DATE) AND CAST('2024-06-30' AS DATE) GROUP BY DATE_TRUNC('MONTH', visits.day), visits.disease;
SELECT disease, COUNT(*) AS num_rows FROM visits WHERE disease = 'flu' GROUP BY disease HAVING COUNT(*) > 1.5;

-- tool: Malloy
SELECT base."disease" as "disease", COUNT(1) as "visit_count" FROM visits as base GROUP BY 1 ORDER BY 2 desc NULLS LAST;
SELECT base."ward" as "ward", (COUNT(CASE WHEN base."disease"='flu' THEN 1 END))*1.0/NULLIF(COUNT(1),0) as "share" FROM visits as base GROUP BY 1 ORDER BY 1 asc NULLS LAST;
WITH __stage0 AS (SELECT base."ward" as "ward", COUNT(1) as "n", AVG(base."cost") as "c" FROM visits as base WHERE base."disease"='flu' GROUP BY 1) SELECT * FROM __stage0 ORDER BY 2 desc NULLS LAST;
WITH __stage0 AS (SELECT group_set, CASE WHEN group_set IN (1) THEN base."ward" END as "ward", COUNT(1) as "n" FROM visits as base CROSS JOIN (SELECT UNNEST(GENERATE_SERIES(0,1,1)) as group_set) as group_set WHERE base."disease"='flu' GROUP BY 1,2) SELECT MAX(CASE WHEN group_set=0 THEN "n" END) as "n", LIST("ward" ORDER BY "ward") FILTER (WHERE group_set=1) as "wards" FROM __stage0;
SELECT base."disease" as "disease" FROM visits as base GROUP BY 1 ORDER BY 1 asc NULLS LAST;
SELECT DATE_TRUNC('month', base."day") as "month", COUNT(1) as "n" FROM visits as base WHERE base."disease" IN ('flu','asthma') GROUP BY 1 ORDER BY 1 desc NULLS LAST;

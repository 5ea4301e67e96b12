-- How many values were drawn at most for one record: before, and with those that are drawn now; and how many for one person, where all
-- persons are known.
WITH before AS (
    SELECT DISTINCT mark, value, person FROM priv.drawn JOIN priv.source AS known ON known.number = source
    WHERE coins = ? AND population = @population@
), every AS (
    FROM before UNION SELECT mark, value, person FROM _priv_drawn JOIN (SELECT mark, person FROM _priv_record) USING (mark)
)
SELECT (SELECT coalesce(max(looks), 0) FROM (SELECT count(*) AS looks FROM (SELECT DISTINCT mark, value FROM before) GROUP BY mark)) AS before,
    (SELECT max(looks) FROM (SELECT count(*) AS looks FROM (SELECT DISTINCT mark, value FROM every) GROUP BY mark)) AS after,
    (SELECT count(*) FROM _priv_drawn) AS anew,
    (SELECT CASE WHEN bool_and(person IS NOT NULL) THEN max(looks) END
     FROM (SELECT person, count(*) AS looks FROM every GROUP BY person)) AS of_person

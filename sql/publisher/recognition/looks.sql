-- How many values were drawn at most for one record: before, and with those that are drawn now.
WITH before AS (
    SELECT DISTINCT mark, value FROM priv.drawn JOIN priv.source AS known ON known.number = source
    WHERE coins = ? AND population = @population@
), every AS (
    FROM before UNION ALL FROM _priv_drawn
)
SELECT (SELECT coalesce(max(looks), 0) FROM (SELECT count(*) AS looks FROM before GROUP BY mark)) AS before,
    (SELECT max(looks) FROM (SELECT count(*) AS looks FROM every GROUP BY mark)) AS after,
    (SELECT count(*) FROM _priv_drawn) AS anew

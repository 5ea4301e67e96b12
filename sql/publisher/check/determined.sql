-- By size: the number of groups of records that agree on some columns, and the number that determine another column
-- (mechanism/determination.md defines this). "counted" has the rows of each group with each value of the other column, "prior"
-- those of the whole table with each value.
WITH counted AS (@counted@
), prior AS (@prior@
), total AS (
    SELECT target, sum(rows) AS records FROM prior GROUP BY target
), grouped AS (
    SELECT given, target, key, sum(rows)::BIGINT AS size, max(rows) AS most, arg_max(value, rows) AS value
    FROM counted GROUP BY ALL
)
SELECT given, target, size, count(*) AS groups,
    count(*) FILTER (most >= @certainty@ * size AND most * (records - rows) >= @odds@ * (size - most) * rows
        AND rows < records) AS determined
FROM grouped JOIN prior USING (target, value) JOIN total USING (target)
GROUP BY ALL ORDER BY ALL

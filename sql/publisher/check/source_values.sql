-- How often each value of a column is in the whole source.
    SELECT 0 AS target, hash(@other@) AS value, count(*) AS rows FROM @source@ GROUP BY ALL

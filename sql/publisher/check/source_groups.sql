-- Groups of the whole source, and the values that another column has in them; of very many groups, those whose hash falls
-- into one of @rate@ classes.
    SELECT 0 AS given, 0 AS target, hash(@columns@) AS key, hash(@other@) AS value, count(*) AS rows
    FROM @source@ WHERE hash(@columns@) % @rate@ = 0 GROUP BY ALL

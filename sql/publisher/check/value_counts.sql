-- How many records have each value of a column.
SELECT count(*) AS rows FROM @source@ GROUP BY @column@ ORDER BY rows

-- ENUM columns: how many values the type lists, and how many occur.
SELECT unnest(listed) AS listed, unnest(used) AS used FROM (SELECT [@listed@] AS listed, [@used@] AS used FROM @source@)

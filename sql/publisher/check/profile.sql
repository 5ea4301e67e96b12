-- Every column of the source at a glance: about how many values it has, and how many records have one.
SELECT unnest(range(len(present)))::USMALLINT AS number, unnest(present) AS present, unnest(distinct_values) AS distinct_values
FROM (SELECT [@present@] AS present, [@distinct@] AS distinct_values FROM @source@)

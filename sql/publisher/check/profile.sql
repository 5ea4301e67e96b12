-- Columns of the source at a glance: how many records have a value, and about how many values there are.
SELECT [@present@] AS present, [@distinct@] AS distinct_values FROM @source@

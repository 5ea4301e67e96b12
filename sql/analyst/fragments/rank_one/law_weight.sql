-- W[value, y] = (1{y = value} - background of y) / retention of the value.
((CASE WHEN y = @place@ THEN 1 ELSE 0 END - list_extract(@backgrounds@, y)) / list_extract(@retentions@, @place@))

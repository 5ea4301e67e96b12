-- W[value, shown].
list_extract(@row@, CASE WHEN _column IS NULL THEN @size@ ELSE list_position(@texts@, CAST(_column AS VARCHAR)) END)

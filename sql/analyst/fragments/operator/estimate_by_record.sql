-- The sum of W[value, shown] over the rows, looked up for each.
coalesce(sum(list_extract(@row@, @shown_position@)), 0e0)

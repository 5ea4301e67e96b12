-- The weights W[value, y] = (1{y = value} - background of y) / retention of the value, for every y. A value
-- without retention, if it is the only one, is what the others leave: its row is 1 minus the sum of theirs.
CASE WHEN @retention@ > 0 THEN
    [(CASE WHEN y = @position@ THEN 1e0 ELSE 0e0 END - list_extract(@backgrounds@, y)) / @retention@
     FOR y IN range(1, @size@ + 1)]
ELSE
    [CASE WHEN p > 0 THEN 1 - 1 / p ELSE 1 + list_sum([1 / q FOR q IN @retentions@ IF q > 0]) END
     FOR p IN @retentions@]
END

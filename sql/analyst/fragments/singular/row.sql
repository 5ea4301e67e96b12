-- The weights W[value, y] = (1{y = value} - background of y) / retention of the value, for every y; none for one of
-- several values without retention, which are published alike.
CASE WHEN @retention@ > 0 THEN
    [(CASE WHEN y = @position@ THEN 1e0 ELSE 0e0 END - list_extract(@backgrounds@, y)) / @retention@
     FOR y IN range(1, @size@ + 1)]
ELSE [error(_priv_text) FOR _priv_text IN ['some values of this release are published alike, and only their total can be reconstructed: FROM priv.guarantee names them, priv.reconstructed_mle shares it out']][1] END

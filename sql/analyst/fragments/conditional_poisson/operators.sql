-- Pr[published = y | true = x], a list of y for every x. Two values meet in a group as often as the conditional Poisson
-- law says, (odds of x * inclusion of y - odds of y * inclusion of x) / (odds of x - odds of y).
[[CASE WHEN x = y THEN 1 / @gamma@ WHEN list_extract(_priv_inclusions, x) = 0 THEN 0e0
    WHEN list_extract(_priv_oddss, x) = list_extract(_priv_oddss, y)
        THEN list_extract(_priv_tied_joints, x) / (@gamma@ * list_extract(_priv_inclusions, x))
    ELSE (list_extract(_priv_oddss, x) * list_extract(_priv_inclusions, y) - list_extract(_priv_oddss, y) * list_extract(_priv_inclusions, x))
        / (list_extract(_priv_oddss, x) - list_extract(_priv_oddss, y)) / (@gamma@ * list_extract(_priv_inclusions, x)) END
  FOR y IN range(1, @size@ + 1)] FOR x IN range(1, @size@ + 1)]

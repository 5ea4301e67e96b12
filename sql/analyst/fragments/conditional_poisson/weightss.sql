-- W[x, y], a list of the weights of every published y for every x: a slope between two points (odds, potential).
[[CASE WHEN x = y THEN list_extract(_priv_own_weights, x)
    WHEN list_extract(_priv_oddss, x) = list_extract(_priv_oddss, y) THEN list_extract(_priv_tied_weights, x)
    ELSE list_extract(_priv_inclusions, x) * (list_extract(_priv_potentials, x) - list_extract(_priv_potentials, y))
        / (list_extract(_priv_oddss, y) - list_extract(_priv_oddss, x)) END
  FOR y IN range(1, @size@ + 1)] FOR x IN range(1, @size@ + 1)]

-- The same, a list of x for every y.
[[[list_extract(list_extract(o, x), y) FOR x IN range(1, @size@ + 1)] FOR y IN range(1, @size@ + 1)] FOR o IN [_priv_operators]][1]

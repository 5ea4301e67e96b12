-- Shown over expected, for every published value.
[list_extract(shown, y) / greatest((list_extract(_priv_owns, y) - list_extract(_priv_others, y)) * list_extract(f, y)
    + list_extract(_priv_others, y), 1e-300) FOR y IN range(1, @size@ + 1)]

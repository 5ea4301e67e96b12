-- The fixed point of the iteration over two states, the value and any other, for each value: nothing need be iterated.
[CASE WHEN list_extract(_priv_owns, x) - list_extract(_priv_others, x) > 1e-12
    THEN least(greatest((list_extract(ratio, x) - list_extract(_priv_others, x))
        / (list_extract(_priv_owns, x) - list_extract(_priv_others, x)), 0), 1) END FOR x IN range(1, @size@ + 1)]

-- The weights W[value, y] for every published value y.
list_slice(@weights@, (@position@ - 1) * @size@ + 1, @position@ * @size@)

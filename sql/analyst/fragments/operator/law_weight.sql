-- W[value, y].
list_extract(@weights@, (@place@ - 1) * @size@ + y)

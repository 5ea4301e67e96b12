-- Every shown record stands for as many as were not sampled with it: one step is enough.
[list_extract(shown, x) / list_extract(_priv_owns, x) FOR x IN range(1, @size@ + 1)]

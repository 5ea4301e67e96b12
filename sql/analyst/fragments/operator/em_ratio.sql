-- Shown over expected, for every published value.
[e[1] / greatest(list_dot_product(e[2], f), 1e-300) FOR e IN list_zip(shown, _priv_likelihoods)]

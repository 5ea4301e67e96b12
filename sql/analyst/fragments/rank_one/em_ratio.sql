-- Shown over expected, for every published value.
[[e[1] / greatest(e[2] * e[3] + chance, 1e-300) FOR e IN list_zip(shown, _priv_retentions, f)]
 FOR chance IN [(1 - list_dot_product(_priv_retentions, f)) / @size@]][1]

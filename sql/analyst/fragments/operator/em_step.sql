-- Every true value takes the part of the published counts that it is likely to have caused.
[e[1] * list_dot_product(e[2], ratio) FOR e IN list_zip(f, _priv_operators)]

-- Every true value takes the part of the published counts that it is likely to have caused.
[list_extract(f, x) * ((list_extract(_priv_owns, x) - list_extract(_priv_others, x)) * list_extract(ratio, x)
    + list_dot_product(_priv_others, ratio)) FOR x IN range(1, @size@ + 1)]

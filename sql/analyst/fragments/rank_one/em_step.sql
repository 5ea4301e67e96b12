-- Every true value takes the part of the published counts that it is likely to have caused.
[[e[1] * (e[2] * e[3] + (1 - e[2]) / @size@ * by_chance) FOR e IN list_zip(f, _priv_retentions, ratio)]
 FOR by_chance IN [list_sum(ratio)]][1]

-- The linear estimate, with a little for what has none: where that is not negative, it is the answer already.
[[e / list_sum(start) FOR e IN start]
 FOR start IN [[[greatest(coalesce(e, (1 - coalesce(list_sum(linear), 0)) / len([e FOR e IN linear IF e IS NULL])), 0.1e0 / @size@)
                 FOR e IN linear]
                FOR linear IN [[CASE WHEN e[2] > 0 THEN (e[1] - chance) / e[2] END FOR e IN list_zip(shown, _priv_retentions)]
                               FOR chance IN [list_dot_product(_priv_backgrounds, shown)]]][1]]][1]

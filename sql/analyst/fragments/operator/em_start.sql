-- The linear estimate, with a little for what has none: where that is not negative, it is the answer already.
[[e / list_sum(start) FOR e IN start]
 FOR start IN [[CASE WHEN e > 0 THEN e ELSE 0.1e0 / @size@ END FOR e IN [list_dot_product(w, shown) FOR w IN _priv_weightss]]]][1]

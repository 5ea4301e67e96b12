-- The estimate: it is not negative, and no larger than the number of rows.
coalesce(list_sum([e.value / e.key FOR e IN @sizes@]), 0e0)

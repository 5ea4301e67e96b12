-- As if every record drew its value from its group on its own. The records of a group share its values among each
-- other, so it errs upwards.
coalesce(list_sum([e.value / e.key * (1 - 1e0 / e.key) FOR e IN @sizes@]), 0e0)

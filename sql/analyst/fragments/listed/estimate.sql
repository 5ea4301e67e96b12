-- A record of a group of n has each of its values with 1/n (Xiao and Tao, section 4).
coalesce(list_sum([e.value / e.key FOR e IN @sizes@]), 0e0)

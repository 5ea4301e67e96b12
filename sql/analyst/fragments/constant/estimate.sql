-- The share of the value in the whole table, of any rows.
@own@ * count(*)

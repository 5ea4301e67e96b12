-- The records that show the value have it.
coalesce(count_if(@match@), 0)::DOUBLE

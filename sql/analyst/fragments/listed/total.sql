-- The records that may have the value: those of groups with it.
coalesce(count_if(@holds@), 0)::DOUBLE

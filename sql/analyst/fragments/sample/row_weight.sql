-- What a row counts for before it is scaled.
(@match@)::INTEGER::DOUBLE

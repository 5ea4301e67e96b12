-- Each column of the sample on its own.
SELECT record, number::UINTEGER AS given, value AS key FROM _priv_cell WHERE number IN (@numbers@)

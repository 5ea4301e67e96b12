-- new_aggregates: whether the statement calls no aggregate of DuckDB of which the schema estimated does not know; an error otherwise.
--
-- It is asked in versions of DuckDB that are not known themselves: looking through all functions takes its time.

CASE WHEN EXISTS (
    SELECT 1 FROM system.main.duckdb_functions()
    WHERE function_type = 'aggregate' AND function_name NOT IN (@known@) AND system.main.regexp_matches(
        system.main.lower(@statement@), '\b' || system.main.regexp_escape(function_name) || '"?\s*\(')
) THEN system.main.error(@says.new@) ELSE true END

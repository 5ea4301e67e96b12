-- conditions: what must be so for the view of a release in the schema estimated to hand out a row; an error otherwise.
--
-- The schema is the one in use; a count of known weights finds that its macros are what is called; DuckDB has no aggregate of which
-- the schema does not know, where it is a version that is not known itself; and the statement sums (guard).

CASE WHEN system.main.current_schema() = @schema@ THEN true ELSE system.main.error(@says.elsewhere@) END
AND CASE WHEN (SELECT count(*) FROM (VALUES (2.5::DOUBLE), (-1)) AS probe(@weight@)) = 1.5 THEN true
    ELSE system.main.error(@says.shadowed@) END
AND CASE WHEN EXISTS (
        SELECT 1 FROM system.main.duckdb_functions()
        WHERE NOT system.main.regexp_matches(system.main.version(), @known_versions@)
            AND function_type = 'aggregate' AND function_name NOT IN (@known@) AND system.main.regexp_matches(@statement@,
                '(?i)\b' || system.main.regexp_escape(function_name) || '"?\s*\(')
    ) THEN system.main.error(@says.new@) ELSE true END
AND (@guard@)

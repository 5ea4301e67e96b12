-- True, unless a macro of the caller's has the name of a function of DuckDB, and would be called in its place: then an error.
(SELECT CASE WHEN system.main.min(name) IS NULL THEN true ELSE system.main.error(system.main.concat('the macro ''',
        system.main.min(name), ''' stands where DuckDB has a function of this name, which would be called', system.main.chr(10),
        'Hint: give the macro another name, or another schema than main')) END
    FROM (SELECT system.main.lower(function_name) AS name FROM system.main.duckdb_functions() GROUP BY ALL
        HAVING system.main.bool_or(internal)
            AND system.main.bool_or(NOT internal AND schema_name = ANY(system.main.current_schemas(true)))))

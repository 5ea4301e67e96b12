-- Part of the text of a query: true, unless a temporary table hides the one that would be published under the name of the
-- source; then an error.
(SELECT CASE WHEN system.main.count(DISTINCT temporary) < 2 THEN true ELSE system.main.error(system.main.concat('the temporary table ''',
        system.main.any_value(name), ''' hides the table of this name, which would be published', system.main.chr(10),
        'Hint: drop it, or give it another name')) END
    FROM (SELECT temporary, database_name, system.main.lower(table_name) AS name FROM system.main.duckdb_tables()
        UNION ALL SELECT temporary, database_name, system.main.lower(view_name) FROM system.main.duckdb_views())
    WHERE (temporary OR database_name = system.main.current_database())
        AND system.main.replace(system.main.lower($$ || '''' || replace(source, '''', '''''') || '''' || $$), '"', '') IN (name, 'main.' || name))

-- Whether the table that a query reads is that of the release: the catalog beside it says when it was published, and no
-- temporary table or view of the reader's has its name, nor one of another database that the search path names as well.
SELECT CASE
    WHEN NOT coalesce(bool_or(release = @release@ AND created_at = CAST(@published@ AS TIMESTAMP)), false)
        THEN error('the database in use has another release called "' || @release@ || '", or none'
            || chr(10) || 'Hint: say which file is meant: database := ''…'' with the name under which it is attached')
    WHEN {unnamed} AND (
        SELECT coalesce(bool_or(temporary), false) OR count(DISTINCT database_name) > 1 AND contains(system.main.current_setting('search_path'), ',')
        FROM (SELECT database_name, temporary FROM duckdb_tables() WHERE lower(table_name) = lower(@release@)
            UNION ALL SELECT database_name, temporary FROM duckdb_views() WHERE lower(view_name) = lower(@release@))
    )
        THEN error('a temporary table or view of yours is called like the release "' || @release@
            || '", or one of another database in the search path'
            || chr(10) || 'Hint: drop it, or say which file is meant: database := ''…''')
    ELSE true END AS found
FROM {database}priv.release

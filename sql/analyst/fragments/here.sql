-- Whether the table that a query reads is that of the release: the catalog beside it says when it was published, and no
-- temporary table or view of the reader's has its name.
SELECT CASE
    WHEN NOT coalesce(bool_or(release = @release@ AND created_at = CAST(@published@ AS TIMESTAMP)), false)
        THEN error('the database in use has another release called "' || @release@ || '", or none'
            || chr(10) || 'Hint: say which file is meant: database := ''…'' with the name under which it is attached')
    WHEN {unnamed} AND (SELECT count(*) FROM duckdb_tables() WHERE temporary AND lower(table_name) = lower(@release@))
            + (SELECT count(*) FROM duckdb_views() WHERE temporary AND lower(view_name) = lower(@release@)) > 0
        THEN error('a temporary table or view of yours is called like the release "' || @release@ || '"'
            || chr(10) || 'Hint: drop it, or say which file is meant: database := ''…''')
    ELSE true END AS found
FROM {database}priv.release

-- Whether the table that a query reads is that of the release: the catalog beside it says when it was published.
SELECT CASE
    WHEN NOT coalesce(bool_or(release = @release@ AND created_at = CAST(@published@ AS TIMESTAMP)), false)
        THEN error('the database in use has another release called "' || @release@ || '", or none'
            || chr(10) || 'Hint: say which file is meant: database := ''…'' with the name under which it is attached')
    ELSE true END AS found
FROM {database}priv.release

-- The text of a query: the micro groups of a source, and how many records of each have its most frequent value. What
-- is hidden from them may be given as a name or as a list of names.
CASE WHEN sensitive IS NULL THEN error('no sensitive column is named' || chr(10) || 'Hint: write sensitive := ''disease''')::VARCHAR
ELSE 'WITH cell AS MATERIALIZED (
    SELECT * EXCLUDE (' || array_to_string(['"' || replace(name, '"', '""') || '"' FOR name IN flatten([
            from_json(CASE WHEN starts_with(given, '[') THEN given ELSE '[' || given || ']' END, '["VARCHAR"]')
            FOR given IN [to_json(sensitive)::VARCHAR, to_json(record_id)::VARCHAR, to_json(exclude)::VARCHAR]
            IF coalesce(given, 'null') <> 'null'])], ', ') || '),
        "' || replace(sensitive, '"', '""') || '" AS _priv_value, count(*) AS _priv_rows
    FROM query_table(''' || replace(source, '''', '''''') || ''') GROUP BY ALL
), grouped AS MATERIALIZED (
    SELECT * EXCLUDE (_priv_value, _priv_rows), sum(_priv_rows)::BIGINT AS _priv_size, max(_priv_rows) AS _priv_most
    FROM cell GROUP BY ALL
)' END

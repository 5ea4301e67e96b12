-- The text of a query: the micro groups of a source, and how many records of each have its most frequent value. The
-- excluded columns may be given as a name or as a list of names. The bytes of texts are grouped too: a collation may take
-- different texts for equal.
CASE WHEN sensitive IS NULL THEN error('no sensitive column is named' || chr(10) || 'Hint: write sensitive := ''disease''')::VARCHAR
ELSE 'WITH cell AS MATERIALIZED (
    SELECT * EXCLUDE (' || @hidden@ || '), encode(concat_ws(chr(0), '''', *COLUMNS(* EXCLUDE (' || @hidden@ || ')))) AS _priv_key,
        "' || replace(sensitive, '"', '""') || '" AS _priv_value,
        encode("' || replace(sensitive, '"', '""') || '"::VARCHAR) AS _priv_value_key, count(*) AS _priv_rows
    FROM query_table(''' || replace(source, '''', '''''') || ''') GROUP BY ALL
), grouped AS MATERIALIZED (
    SELECT * EXCLUDE (_priv_value, _priv_value_key, _priv_rows), sum(_priv_rows)::BIGINT AS _priv_size, max(_priv_rows) AS _priv_most
    FROM cell GROUP BY ALL
)' END

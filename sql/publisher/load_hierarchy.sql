-- FROM priv.load_hierarchy(attribute, path [, delimiter := ';']) -> attribute, value, level, generalized
--
-- Reads a generalization hierarchy from the usual file: one line per value, the value first, then its generalization at
-- level 1, level 2, and so on; no header. Level 0 is the value itself. An empty field is the missing value. The file must
-- not depend on the data that it will generalize.
--
--   CREATE TABLE hierarchies AS
--       FROM priv.load_hierarchy('sex', 'sex.csv') UNION ALL FROM priv.load_hierarchy('race', 'race.csv');

CREATE OR REPLACE MACRO priv.load_hierarchy(attribute, path, delimiter := ';') AS TABLE
SELECT attribute::VARCHAR AS attribute, line[1] AS value, (place - 1)::INTEGER AS level, line[place] AS generalized
FROM (
    SELECT line, unnest(range(1, len(line) + 1)) AS place
    FROM (
        SELECT list_value(*COLUMNS(*)) AS line
        FROM read_csv(
            -- A folder without a name is read by DuckDB 2 without end.
            CASE WHEN rtrim(path::VARCHAR, '/\') IN ('', '~', 'file:') THEN error('no file is called ' || left(path::VARCHAR, 100)
                || chr(10) || 'Hint: name the file of the hierarchy, such as ''sex.csv''') ELSE path END,
            delim = CASE WHEN octet_length(encode(delimiter::VARCHAR)) BETWEEN 1 AND 4 THEN delimiter::VARCHAR
                ELSE error('a delimiter has 1 to 4 bytes, got ' || left(coalesce(delimiter::VARCHAR, 'NULL'), 100)
                || chr(10) || 'Hint: write delimiter := '';''') END, header = false, all_varchar = true, null_padding = true, skip = 0,
            quote = '"', escape = '"', comment = '')
    )
);

COMMENT ON MACRO TABLE priv.load_hierarchy IS
    'Read a generalization hierarchy from a file with one line per value: the value, then what it becomes level by level.';

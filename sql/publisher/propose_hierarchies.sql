-- FROM priv.propose_hierarchies(source [, exclude := […]] [, folder := 'path'])
--   -> attribute, type, statement, reason
--
-- Writes a statement for the hierarchy of each column that publish_safe_k would generalize, from the names and types of the
-- columns alone. No value is read, so the hierarchies cannot depend on the data. If folder has a CSV file whose name is that
-- of the column, or ends in it as adult_hierarchy_age.csv does, the statement reads that file. statement is NULL if only
-- someone who knows the values can write one; reason says why, and what to adapt.
--
--   SELECT attribute, statement FROM priv.propose_hierarchies('visits', exclude := ['id', 'disease']);

CREATE OR REPLACE MACRO priv.propose_hierarchies(source, exclude := NULL, folder := NULL) AS TABLE
WITH described AS (
    SELECT column_name AS attribute, column_type AS type, row_number() OVER () AS place
    FROM query('FROM (DESCRIBE FROM query_table(''' || replace(source::VARCHAR, '''', '''''') || '''))')
), file AS (
    SELECT file AS path, lower(regexp_extract(file, '([^/\\]*)\.csv$', 1, 'i')) AS stem
    FROM glob(coalesce(folder::VARCHAR || '/*.[cC][sS][vV]', ''))
), asked AS (
    SELECT CASE
        WHEN folder IS NOT NULL AND NOT EXISTS (FROM file)
            THEN error('the folder ' || left(folder::VARCHAR, 100) || ' has no CSV file' || chr(10) || 'Hint: name the folder that '
                || 'has a file for each column, such as age.csv')
        WHEN exclude IS NOT NULL AND from_json(to_json(exclude), '["VARCHAR"]') IS NULL
            THEN error('exclude must be a list of columns, got ' || left(exclude::VARCHAR, 100) || chr(10) || 'Hint: write exclude := [''id'']')
        ELSE coalesce(from_json(to_json(exclude), '["VARCHAR"]'), []) END AS excluded
), known AS (
    SELECT CASE WHEN unknown IS NOT NULL
        THEN error('there is no column ' || left(unknown, 100) || chr(10) || 'Hint: exclude names columns of the source')
        ELSE excluded END AS excluded
    FROM (
        SELECT excluded, [name FOR name IN excluded IF NOT list_contains(attributes, lower(name))][1] AS unknown
        FROM asked, (SELECT list(lower(attribute)) AS attributes FROM described)
    )
), found AS (
    SELECT described.*, '''' || replace(attribute, '''', '''''') || '''' AS named, (
        SELECT min(path) FROM file
        WHERE stem = lower(attribute) OR suffix(stem, '_' || lower(attribute)) OR suffix(stem, '-' || lower(attribute))
    ) AS path
    FROM described, known
    WHERE NOT list_contains([lower(name) FOR name IN excluded], lower(attribute))
)
SELECT attribute, type,
    CASE
        WHEN path IS NOT NULL THEN 'FROM priv.load_hierarchy(' || named || ', ''' || replace(path, '''', '''''') || ''')'
        WHEN type = 'DATE' THEN 'FROM priv.date_hierarchy(' || named || ', DATE ''1900-01-01'', DATE ''2099-12-31'')'
        WHEN type = 'BOOLEAN' OR starts_with(type, 'ENUM(') THEN 'SELECT ' || named || ' AS attribute, value, level, '
            || 'if(level = 0, value, ''*'') AS generalized FROM (SELECT unnest('
            || if(type = 'BOOLEAN', '[''false'', ''true'']', 'enum_range(NULL::' || type || ')::VARCHAR[]') || ') AS value), range(2) AS t(level)'
        WHEN NOT regexp_matches(type, '^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$') THEN NULL
        WHEN regexp_matches(attribute, '(^|[^a-z])(year|yob)([^a-z]|$)', 'i')
            THEN 'FROM priv.range_hierarchy(' || named || ', 5, 10, 20, low := 1900, high := 2099)'
        WHEN regexp_matches(attribute, '(^|[^a-z])age([^a-z]|$)', 'i') THEN 'FROM priv.range_hierarchy(' || named || ', 5, 10, 20)'
        ELSE 'FROM priv.range_hierarchy(' || named || ', 10, 100, 1000, low := 0, high := 9999)' END AS statement,
    CASE
        WHEN path IS NOT NULL THEN 'a file of this name is in the folder; it must not depend on the data'
        WHEN type = 'DATE' THEN 'days by month, year and decade; adapt the first and the last day to what could occur'
        WHEN starts_with(type, 'ENUM(') THEN 'the values of the type; make sure that it was not made from what occurs'
        WHEN type = 'BOOLEAN' THEN 'both values, or nothing'
        WHEN regexp_matches(type, '^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$')
            THEN 'ranges of whole numbers; adapt widths, low and high to what could occur'
        WHEN starts_with(type, 'TIMESTAMP') THEN 'an exact time: publish the day, by a view that casts it to DATE'
        WHEN regexp_matches(type, '^(DOUBLE|FLOAT|DECIMAL)') THEN 'no whole numbers: round them in a view, and take priv.range_hierarchy'
        ELSE 'the type does not say which values belong together: write a file with one line per value, the value first, and read it '
            || 'with priv.load_hierarchy, or exclude the column' END AS reason
FROM found ORDER BY place ASC;

COMMENT ON MACRO TABLE priv.propose_hierarchies IS
    'A statement for the generalization hierarchy of each column, from names and types alone; reads no value.';

-- statement: makes, of the text of the statement that runs, the query that the view of a release in the schema estimated reads.
--
-- Columns that the statement does not name are not grouped by, attributes that it does not name are not expanded, and reading
-- either is an error. All columns are expanded if a WITH selects them all, and if a prepared statement is executed, whose
-- text is read later. If no statement runs yet, or only its columns are asked for, the query has them and no row; the weights
-- are among them if an aggregate asks for them.
--
-- DuckDB's own parser reads the statement. What a macro cannot be asked is refused here, when the view is bound, for DuckDB would
-- refuse it in its own words; how the statement uses the rows is judged when the query runs (judge).

-- name: statement
-- The text, without comments before it. DuckDB has none where a client binds a statement before it runs it.
regexp_replace(CASE WHEN current_query_id() > 9223372036854775807 THEN '' ELSE coalesce(current_query(), '') END,
    '^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)+', '', 's')

-- name: within
-- The query within CREATE TABLE AS, INSERT, COPY, EXPLAIN and PREPARE.
regexp_replace(regexp_replace(@statement@, '^(?:create\s.*?\sas\b|prepare\s+\S+\s+as\b|explain\s+(?:analyze\s)?|copy\b'
    || '|insert\s.*?into\s+[^\s(]+\s*(?:\([^()]*\)\s*)?(?:by\s+name\s+)?(select|with|from|\())\s*', '\1 ', 'si'),
    CASE WHEN @statement@ ILIKE 'copy%' THEN '\)\s*to\s[^()]*(?:\([^()]*\)\s*)?;?\s*$' ELSE '$^' END, ')', 'i')

-- name: kind
-- What is to be known of the statement, a letter for each: only columns are asked for, a prepared statement is executed, the query
-- has weights, and what errors are made of.
concat(CASE WHEN t = '' OR contains(t, 'json_serialize_sql') OR regexp_matches(t, '(?i)^(?:describe|show)\s') THEN 'd' END,
    CASE WHEN t ILIKE 'execute %' THEN 'ews' END,
    CASE WHEN t = '' OR contains(t, 'json_serialize_sql') OR version() LIKE 'v1.4.%' OR regexp_matches(t, '(?i)\b(?:@names@)"?\s*\(') THEN 'w' END,
    CASE WHEN regexp_matches(t, '(?i)_(?:stderr|low|high)"?\s*\(') THEN 's' END)

-- name: view
-- The query whose text makes the query: @made@, where _priv_text is the text of the statement, _priv_tree how DuckDB reads it,
-- _priv_names what it names, or an asterisk, and _priv_kind what is to be known of it. The tables are those of the database in
-- use, and no temporary ones of the same name.
[replace(replace(replace(replace(replace(@made@, '_priv_kind', @kind@), '_priv_home.',
        CASE WHEN current_schema() = @schema@ THEN replace(concat('"', replace(current_database(), '"', '""'), '".'), '''', '''''') ELSE '' END),
    '_priv_names', CASE WHEN t ILIKE 'execute %' OR regexp_matches(t, '(?i)\bwith\b') AND regexp_matches(t, '(?i)(?:select|,|\.|distinct)\s*\*')
        THEN '*' ELSE replace(replace(lower(t), '""', '"'), '''', '''''') END),
    '_priv_text', replace(t, '''', '''''')), '_priv_tree', CASE WHEN contains(t, 'json_serialize_sql') OR contains(t, '_priv_')
        THEN '{"error":true}' ELSE replace(CAST(json_serialize_sql(@within@) AS VARCHAR), '''', '''''') END)
 FOR t IN [@statement@]][1]

-- name: made
-- The text is made in one expression, where tree is _priv_tree.
FROM query([concat(@cells@, CASE
    WHEN @described@ THEN @no_rows@
    WHEN current_schema() <> @schema@ THEN error(@says.elsewhere@)
    WHEN current_setting('default_collation') <> '' THEN error(@says.collated@)
    WHEN regexp_matches('_priv_text', '(?i)^create\s(?:[a-z]+\s+)*?(?:view|macro|function)\s') THEN error(@says.stored@)
    WHEN regexp_matches('_priv_text', '(?i)^summarize\s') THEN error(@says.rows@)
    WHEN contains('_priv_kind', 'e') THEN ''
    WHEN json_extract_string(tree, '$.error') <> 'false' THEN error(CASE WHEN regexp_matches('_priv_text', '(?i)pivot')
        THEN @says.pivoted@ ELSE @says.unread@ END)
    WHEN NOT list_contains([lower(x) FOR x IN json_extract_string(tree, '$..table_name')], @release@) THEN error(@says.unseen@)
    WHEN @joined@ THEN error(@says.twice@)
    WHEN @pivoted@ THEN error(@says.pivoted@)
    ELSE CASE list_max([CASE WHEN coalesce(json_extract_string(c, '$.schema'), '') <> '' THEN 0
            WHEN json_extract_string(c, '$.class') = 'WINDOW' THEN CASE WHEN @totalled@ THEN 0 ELSE 1 END WHEN json_type(c, '$.filter') <> 'NULL' THEN 2
            WHEN json_extract_string(c, '$.distinct') = 'true' THEN 3
            WHEN json_array_length(c, '$.order_bys.orders') > 0 THEN 4 ELSE 0 END FOR c IN @calls@])
        WHEN 1 THEN error(@says.over@) WHEN 2 THEN error(@says.filter@) WHEN 3 THEN error(@says.distinct@)
        WHEN 4 THEN error(@says.ordered@)
        ELSE concat(@known@) END
    END, CASE WHEN @described@ OR NOT contains('_priv_kind', 'e') AND @plain@ THEN '' ELSE concat(' AND ', replace(@judge@, '_judged_tree',
        CASE WHEN contains('_priv_kind', 'e') THEN concat('SELECT json_serialize_sql(statement)',
            ' FROM duckdb_prepared_statements() WHERE lower(name) = ''', regexp_extract(lower('_priv_text'), '^execute\s+"?([^\s(";]+)', 1), '''')
        ELSE concat('SELECT ''', replace(tree, '''', ''''''), '''') END)) END)
 FOR tree IN ['_priv_tree']][1])

-- name: described
contains('_priv_kind', 'd')

-- name: calls
[n FOR n IN json_extract(tree, '$.**') IF lower(json_extract_string(n, '$.function_name')) IN (@counts@)]

-- name: totalled
-- Whether a window sums what a query below has: DuckDB finds its own aggregate then.
lower(json_extract_string(c, '$.function_name')) = 'sum' AND json_extract_string(c, '$.distinct') = 'false' AND json_type(c, '$.filter_expr') = 'NULL'
AND len(json_extract(c, ['$.children', '$.arguments'])) > 0 AND NOT list_has_any([lower(x) FOR x IN json_extract_string(c, '$..function_name')[2:]], [@counts@])
AND len([n FOR n IN json_extract(tree, '$.**') IF json_extract_string(n, '$.type') = 'SELECT_NODE'
    AND json_extract_string(n, '$.from_table.type') <> 'SUBQUERY' AND contains(lower(json_extract_string(n, '$.from_table')), concat('"table_name":"', @release@, '"'))
    AND contains(json_extract_string(n, '$.select_list'), '"class":"WINDOW"')]) = 0

-- name: joined
-- Whether a SELECT reads the view twice, or queries that hand its rows on.
contains(tree, '"type":"JOIN"') AND list_max([len([b FOR b IN json_extract(n, '$.from_table.**')
        IF json_extract_string(b, '$.type') = 'BASE_TABLE' AND list_contains(@handed@, lower(json_extract_string(b, '$.table_name')))])
    - coalesce(list_sum([len([b FOR b IN json_extract(s, '$.**') IF json_extract_string(b, '$.type') = 'BASE_TABLE'
            AND list_contains(@handed@, lower(json_extract_string(b, '$.table_name')))])
        FOR s IN json_extract(n, '$.from_table.**') IF json_extract_string(s, '$.type') = 'SELECT_NODE'
            AND NOT list_contains(json_extract_string(s, '$.select_list[*].type'), 'STAR')]), 0)
    FOR n IN json_extract(tree, '$.**') IF json_extract_string(n, '$.type') = 'SELECT_NODE']) > 1

-- name: handed
-- The view, and what WITH calls queries that hand its rows on.
list_concat([@release@], [lower(json_extract_string(s, '$.key')) FOR s IN json_extract(tree, '$..cte_map.map[*]')
    IF contains(lower(json_extract_string(s, '$.value')), concat('"table_name":"', @release@, '"'))
        AND list_has_any(['STAR'], list_concat(json_extract_string(s, '$.value.query_node.select_list[*].type'),
            json_extract_string(s, '$.value.query.node.select_list[*].type')))])

-- name: pivoted
-- Whether an aggregate of the schema pivots.
len([p FOR p IN json_extract(tree, '$.**') IF json_extract_string(p, '$.type') = 'PIVOT'
    AND list_has_any([lower(x) FOR x IN json_extract_string(p, '$.aggregates[*].function_name')], [@counts@])
    AND coalesce(json_extract_string(p, '$.aggregates[0].schema'), '') = '']) > 0

-- name: plain
-- Whether the statement is one SELECT of the view alone that counts, and has nothing that judge would have to look at.
len(@calls@) > 0 AND (NOT contains('_priv_kind', 's') OR list_contains(json_extract_string(tree, '$..function_name'), 'count_star'))
AND lower(json_extract_string(tree, '$.statements[0].node.from_table.table_name')) = @release@
AND len(list_filter(json_extract_string(tree, '$..type'), lambda x: x IN ('SELECT_NODE', 'TABLE_FUNCTION', 'STAR'))) = 1
AND NOT list_has_any([lower(x) FOR x IN json_extract_string(tree, '$..function_name')], [@others@, @random@])
AND len([x FOR x IN list_concat(json_extract_string(tree, '$..schema'), json_extract_string(tree, '$..sample')) IF x <> '']) = 0
AND NOT regexp_matches(tree, '(?i)"current_(?:role|user)"|"class":"WINDOW"')
AND NOT contains(lower(tree), concat('"column_names":["', lower(coalesce(
    nullif(json_extract_string(tree, '$.statements[0].node.from_table.alias'), ''), @release@)), '"]'))

-- name: compared
-- The texts and numbers that the statement compares with the attribute @name@.
list_aggregate([concat('''', replace(x, '''', ''''''), '''') FOR x IN
    [coalesce(json_extract_string(x, '$.literal.text'), json_extract_string(x, '$.value.value')) FOR x IN
        flatten([list_concat([json_extract(n, '$.left'), json_extract(n, '$.right')], json_extract(n, '$.children[*]'),
            json_extract(n, '$.arguments[*].expression')) FOR n IN json_extract(tree, '$.**')
            IF regexp_matches(json_extract_string(n, '$.type'), '^COMPARE_(?:NOT_?)?(?:EQUAL|IN|DISTINCT_FROM)$')
            AND list_contains([lower(x) FOR x IN json_extract_string(n, ['$.left.column_names[#-1]', '$.right.column_names[#-1]',
                '$.children[0].column_names[#-1]', '$.arguments[0].expression.column_names[#-1]'])], @name@)])
     IF json_extract_string(x, '$.class') = 'CONSTANT'] IF x IS NOT NULL], 'string_agg', ', ')

-- name: cells
-- The records by what the statement names, with every value that they may truly have, and their weights.
concat('SELECT ', concat_ws(', ', @shown@, CASE
        WHEN NOT contains('_priv_kind', 'w') THEN NULL
        WHEN @described@ THEN concat(@no_weight@, ', ', @no_row@)
        WHEN NOT contains('_priv_kind', 's') THEN concat(@records@, @weights@, @weight@, ', ', @no_row@)
        ELSE concat(@records@, @weights@, @weight@, ', ', @row@, @places@, ', w: 1e0', @weights@,
            @moments@, CASE WHEN @attributes@ = 1 THEN @attribute@ ELSE 0 END, ', factors: [',
            CASE WHEN @product@ THEN concat(@one@, @factors@) ELSE '' END, ']', @row_end@) END),
    ' FROM (SELECT *', CASE WHEN contains('_priv_kind', 's') THEN ', row_number() OVER () AS _priv_cell' ELSE '' END, ' FROM (SELECT ',
    @grouped@, @counted@, ')) AS c', @laws@, CASE WHEN @product@ THEN @counting@ ELSE '' END, ' WHERE ', @called@)

-- name: product
-- Whether it names several attributes, and asks for errors.
(contains('_priv_kind', 's') AND NOT @described@ AND @attributes@ > 1)

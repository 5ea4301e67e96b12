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
-- _priv_names what it names, and _priv_kind what is to be known of it. The tables are those of the database in
-- use, and no temporary ones of the same name. Parts that few statements need (OPTIONAL in estimator/estimated_cells.py) are put in for
-- those alone: DuckDB reads and binds all that is there.
[replace(replace(replace(replace(replace(@made@, '_priv_kind', s['kind']), '_priv_home.',
        CASE WHEN current_schema() = @schema@ THEN replace(concat('"', replace(current_database(), '"', '""'), '".'), '''', '''''') ELSE '' END),
    '_priv_names', CASE WHEN s['t'] ILIKE 'execute %' OR regexp_matches(s['t'], '(?i)\bwith\b') AND regexp_matches(s['t'], '(?i)(?:select|,|\.|distinct)\s*\*')
        THEN @every_name@ ELSE replace(replace(lower(s['t']), '""', '"'), '''', '''''') END),
    '_priv_text', replace(s['t'], '''', '''''')), '_priv_tree', replace(s['tree'], '''', ''''''))
 FOR s IN [{t: t, tree: @tree@, kind: @kind@} FOR t IN [@statement@]]][1]

-- name: tree
CASE WHEN contains(t, 'json_serialize_sql') OR contains(t, '_priv_') THEN '{"error":true}' ELSE CAST(json_serialize_sql(@within@) AS VARCHAR) END

-- name: made
-- The text is made in one expression, where tree is _priv_tree. error(NULL) is NULL, which adds no text.
FROM query([concat(@cells@, CASE WHEN @described@ THEN @no_rows@ END, error(CASE
    WHEN @described@ THEN NULL
    WHEN current_schema() <> @schema@ THEN @says.elsewhere@
    WHEN current_setting('default_collation') <> '' THEN @says.collated@
    WHEN regexp_matches('_priv_text', '(?i)^create\s(?:[a-z]+\s+)*?(?:view|macro|function)\s') THEN @says.stored@
    WHEN regexp_matches('_priv_text', '(?i)^summarize\s') THEN @says.rows@
    WHEN contains('_priv_kind', 'e') THEN NULL
    WHEN json_extract_string(tree, '$.error') <> 'false' THEN CASE WHEN regexp_matches('_priv_text', '(?i)pivot') THEN @says.pivoted@ ELSE @says.unread@ END
    WHEN NOT list_contains([lower(x) FOR x IN json_extract_string(tree, '$..table_name')], @release@) THEN @says.unseen@ END), @known@, @checked@)
    FOR tree IN ['_priv_tree']][1])

-- name: checked
-- What DuckDB would refuse in its own words, and what judges how the statement uses the rows.
concat(error(CASE
    WHEN @other_file@ THEN @says.elsewhere@
    WHEN @joined@ THEN @says.twice@
    WHEN @pivoted@ THEN @says.pivoted@
    ELSE list_max([CASE WHEN json_extract_string(c, '$.schema') <> '' OR @totalled@ THEN NULL
        WHEN json_extract_string(c, '$.class') = 'WINDOW' THEN @says.over@
        WHEN json_type(c, '$.filter') <> 'NULL' THEN @says.filter@
        WHEN json_extract_string(c, '$.distinct') = 'true' THEN @says.distinct@
        WHEN json_array_length(c, '$.order_bys.orders') > 0 THEN @says.ordered@ END FOR c IN @calls@]) END),
    ' AND ', replace(replace(@judge@, '_judged_weighed',
        CASE WHEN NOT contains('_priv_kind', 'e') AND @partial@ THEN @weighed_place@ ELSE '''''' END), '_judged_tree',
        CASE WHEN contains('_priv_kind', 'e') THEN concat('SELECT json_serialize_sql(statement)',
            ' FROM duckdb_prepared_statements() WHERE lower(name) = ''', regexp_extract(lower('_priv_text'), '^execute\s+"?([^\s(";]+)', 1), '''')
        ELSE concat('SELECT ''', replace(tree, '''', ''''''), '''') END))

-- name: weighed_place
coalesce([md5(CAST(p['node'] AS VARCHAR)) FOR p IN @weighed@][1], '')

-- name: partial
-- Whether a subquery may pass on some columns of the view.
(contains(tree, '"map":[{') OR len(list_filter(@selects@, lambda n: contains(lower(CAST(n AS VARCHAR)), concat('"table_name":"', @release@, '"')) AND NOT contains(CAST(n AS VARCHAR), '"STAR"')
    AND NOT list_has_any([lower(x) FOR x IN json_extract_string(n, '$..function_name')], [@counts@]))) > 0)

-- name: described
contains('_priv_kind', 'd')

-- name: nodes
-- The nodes of one kind. DuckDB evaluates all parts of an AND: what reads a node as JSON follows a filter of its text.
list_filter(list_filter(json_extract(@of@, '$.**'), lambda n: contains(CAST(n AS VARCHAR), @sought@)), lambda n: json_extract_string(n, '$.type') = @sought@)

-- name: calls
list_filter(list_filter(json_extract(tree, '$.**'), lambda n: contains(CAST(n AS VARCHAR), '"function_name"')),
    lambda n: lower(json_extract_string(n, '$.function_name')) IN (@counts@))

-- name: totalled
-- Whether a window sums what a query below has: DuckDB finds its own aggregate then.
json_extract_string(c, '$.class') = 'WINDOW' AND lower(json_extract_string(c, '$.function_name')) = 'sum' AND json_extract_string(c, '$.distinct') = 'false' AND json_type(c, '$.filter_expr') = 'NULL'
AND len(json_extract(c, ['$.children', '$.arguments'])) > 0 AND NOT list_has_any([lower(x) FOR x IN json_extract_string(c, '$..function_name')[2:]], [@counts@])
AND len(list_filter(@selects@, lambda n: json_extract_string(n, '$.from_table.type') <> 'SUBQUERY' AND contains(lower(json_extract_string(n, '$.from_table')), concat('"table_name":"', @release@, '"'))
    AND contains(json_extract_string(n, '$.select_list'), '"class":"WINDOW"'))) = 0

-- name: joined
-- Whether a SELECT reads the view twice, or queries that hand its rows on.
[list_max([len(list_filter(json_extract_string(n, '$.from_table..table_name'), lambda b: list_contains(handed, lower(b))))
    - coalesce(list_sum([len(list_filter(json_extract_string(s, '$.from_table..table_name'), lambda b: list_contains(handed, lower(b))))
        FOR s IN list_filter(@selects_below@, lambda s: NOT list_contains(json_extract_string(s, '$.select_list[*].type'), 'STAR'))]), 0)
    FOR n IN list_filter(@selects@, lambda n: json_extract_string(n, '$.from_table.type') = 'JOIN')]) FOR handed IN [@handed@]][1] > 1

-- name: handed
-- The view, and what WITH calls queries that hand its rows on.
list_concat([@release@], [lower(json_extract_string(s, '$.key')) FOR s IN list_filter(json_extract(tree, '$..cte_map.map[*]'),
    lambda s: contains(lower(json_extract_string(s, '$.value')), concat('"table_name":"', @release@, '"'))
        AND list_has_any(['STAR'], list_concat(json_extract_string(s, '$.value.query_node.select_list[*].type'),
            json_extract_string(s, '$.value.query.node.select_list[*].type'))))])

-- name: other_file
-- Whether the view is that of another file than the one in use, whose rows it would count.
len(list_filter(@tables@, lambda n: lower(json_extract_string(n, '$.schema_name')) = @schema@ AND lower(json_extract_string(n, '$.table_name')) = @release@
    AND lower(coalesce(json_extract_string(n, '$.catalog_name'), '')) NOT IN ('', lower(current_database())))) > 0

-- name: pivoted
-- Whether an aggregate of the schema pivots.
len(list_filter(json_extract(tree, '$..aggregates[*]'), lambda c: lower(json_extract_string(c, '$.function_name')) IN (@counts@)
    AND json_extract_string(c, '$.schema') = '')) > 0

-- name: plain
-- Whether the statement is asked for its columns alone, or is one SELECT of the view alone that counts, and has nothing that would
-- have to be checked.
contains(s['kind'], 'd') OR NOT contains(s['kind'], 'e')
AND list_has_any([lower(x) FOR x IN json_extract_string(s['tree'], '$..function_name')], [@counts@])
AND (NOT contains(s['kind'], 's') OR list_contains(json_extract_string(s['tree'], '$..function_name'), 'count_star'))
AND lower(json_extract_string(s['tree'], '$.statements[0].node.from_table.table_name')) = @release@
AND len(list_filter(json_extract_string(s['tree'], '$..type'), lambda x: x IN ('SELECT_NODE', 'TABLE_FUNCTION', 'STAR'))) = 1
AND NOT list_has_any([lower(x) FOR x IN json_extract_string(s['tree'], '$..function_name')], [@others@, @decomposed@, @random@])
AND len(list_filter(list_concat(json_extract_string(s['tree'], '$..schema'), json_extract_string(s['tree'], '$..sample')), lambda x: x <> '')) = 0
AND coalesce(lower(json_extract_string(s['tree'], '$.statements[0].node.from_table.catalog_name')), '') IN ('', lower(current_database()))
AND NOT regexp_matches(s['tree'], '(?i)"current_(?:role|user)"|"class":"WINDOW"|"filter":\{|"distinct":true|"order_bys":\{"type":"ORDER_MODIFIER","orders":\[\{')
AND NOT contains(lower(s['tree']), concat('"column_names":["', lower(coalesce(
    nullif(json_extract_string(s['tree'], '$.statements[0].node.from_table.alias'), ''), @release@)), '"]'))

-- name: compared
-- The texts and numbers that the statement compares with the attribute @name@.
list_aggregate([concat('''', replace(x, '''', ''''''), '''')
    FOR x IN list_filter([coalesce(json_extract_string(x, '$.literal.text'), json_extract_string(x, '$.value.value'))
    FOR x IN list_filter(flatten([list_concat([json_extract(n, '$.left'), json_extract(n, '$.right')], json_extract(n, '$.children[*]'),
            json_extract(n, '$.arguments[*].expression')) FOR n IN list_filter(list_filter(json_extract(tree, '$.**'),
                lambda n: contains(CAST(n AS VARCHAR), '"COMPARE_')),
                lambda n: regexp_matches(json_extract_string(n, '$.type'), '^COMPARE_(?:NOT_?)?(?:EQUAL|IN|DISTINCT_FROM)$')
            AND list_contains([lower(x) FOR x IN json_extract_string(n, ['$.left.column_names[#-1]', '$.right.column_names[#-1]',
                '$.children[0].column_names[#-1]', '$.arguments[0].expression.column_names[#-1]'])], @name@))]),
                    lambda x: json_extract_string(x, '$.class') = 'CONSTANT')], lambda x: x IS NOT NULL)], 'string_agg', ', ')

-- name: cells
-- The records by what the statement names, with every value that they may truly have, and their weights.
concat('SELECT ', concat_ws(', ', @shown@, CASE
        WHEN NOT contains('_priv_kind', 'w') THEN NULL
        WHEN @described@ THEN concat(@no_weight@, ', ', @no_row@)
        WHEN NOT contains('_priv_kind', 's') THEN concat('round(c._priv_n', @weights@, @weight@, ', ', @no_row@)
        ELSE concat('round(c._priv_n', @weights@, @weight@, ', CAST({cell: c._priv_cell, x: 0', @places@, ', w: 1e0', @weights@,
            @moments@, CASE WHEN @attributes@ = 1 THEN @attribute@ ELSE 0 END, ', factors: [',
            CASE WHEN @product@ THEN concat('{most: 1e0, least: 1e0, mean: 1e0, square: 1e0}', @factors@) ELSE '' END, ']', @row_end@) END),
    ' FROM (SELECT *', CASE WHEN contains('_priv_kind', 's') THEN ', row_number() OVER () AS _priv_cell' ELSE '' END, ' FROM (SELECT ',
    @grouped@, @counted@, ')) AS c', @laws@, CASE WHEN @product@ THEN @counting@ ELSE '' END, ' WHERE ', @called@)

-- name: product
-- Whether it names several attributes, and asks for errors.
(contains('_priv_kind', 's') AND NOT @described@ AND @attributes@ > 1)

-- name: own_weight
-- The query whose text is that of the value "current_role" of SQL, which a SELECT finds that has no such column: the weight of a
-- row of a subquery that passes on some columns of the view, or else the name of the user, for a row of another table.
-- The weight depends on the columns that are passed on: rows that agree in all of them share the sum of their weights. It is 1 where a
-- temporary table of the same name is counted.
[CASE WHEN contains(replace(lower(t), '""', '"'), @release@) THEN @weighing@ ELSE 'SELECT ''duckdb''' END FOR t IN [@statement@]][1]

-- name: weighing
FROM query([coalesce([concat('WITH ', @named_release@, ' AS (FROM ', @schema@, '.', @named_release@, ') SELECT CASE WHEN (SELECT system.main.count_star() FROM (SELECT table_name FROM duckdb_tables() WHERE temporary',
        ' UNION ALL SELECT view_name FROM duckdb_views() WHERE temporary) AS t(n) WHERE lower(n) = ''', replace(@release@, '''', ''''''), ''') > 0 THEN 1e0',
        ' ELSE system.main.sum(_priv_weight) / system.main.count_star() END FROM (', json_deserialize_sql(concat(
        '{"error":false,"statements":[{"node":', replace(CAST(p['node'] AS VARCHAR), concat('"select_list":[', p['list']), concat(
            '"select_list":[{"class":"COLUMN_REF","type":"COLUMN_REF","alias":"","column_names":[', to_json(p['dropped']), ',"current_role"]},', p['list'])),
        ',"named_param_map":[]}]}')),
        ') AS _priv_row(_priv_weight', list_reduce(list_prepend('', [concat(', _priv_', i) FOR i IN range(len(p['columns']))]), lambda a, b: a || b), ') WHERE true',
        list_reduce(list_prepend('', [concat(' AND _priv_', i - 1, ' IS NOT DISTINCT FROM "', replace(p['reader'], '"', '""'), '"."',
            replace(p['columns'][i], '"', '""'), '"') FOR i IN range(1, len(p['columns']) + 1)]), lambda a, b: a || b))
    FOR p IN @weighed@][1], 'SELECT ''duckdb''') FOR tree IN [[@tree@ FOR t IN [@statement@]][1]]][1])

-- name: weighed
-- The one subquery, or WITH, that passes on some columns of the view, if the statement counts its rows, and nothing else: how DuckDB
-- reads it and its list, the name by which it is counted, the table whose weights it drops, and its columns.
[{node: p['node'], reader: p['reader'], list: substr(CAST(json_extract(p['node'], '$.select_list') AS VARCHAR), 2), dropped: p['tables'][1], columns: p['columns']} FOR p IN list_filter([
    {node: r['node'], reader: r['reader'], columns: [lower(coalesce(nullif(json_extract_string(c, '$.alias'), ''), json_extract_string(c, '$.column_names[#-1]')))
        FOR c IN json_extract(r['node'], '$.select_list[*]')],
     tables: [coalesce(nullif(json_extract_string(b, '$.alias'), ''), json_extract_string(b, '$.table_name')) FOR b IN list_filter(@tables_inside@,
         lambda b: list_contains(@passing@, lower(json_extract_string(b, '$.table_name')))
            AND lower(json_extract_string(b, '$.schema_name')) IN ('', @schema@))]}
        FOR r IN list_filter(@counted_rows@, lambda r: json_extract_string(r['node'], '$.type') = 'SELECT_NODE'
            AND len(list_filter(@selects_inside@, lambda n: list_has_any([lower(x) FOR x IN json_extract_string(n, '$..table_name')], @passing@))) = 0
        AND len(list_filter(list_concat(json_extract_string(r['node'], '$.from_table..ref_type'), json_extract_string(r['node'], '$.from_table..join_type')),
            lambda x: x NOT IN ('REGULAR', 'CROSS', 'INNER', 'LEFT'))) = 0
        AND NOT regexp_matches(CAST(r['node'] AS VARCHAR),
            '"(?:class|type)":"(?:STAR|WINDOW|PARAMETER|COLLATE|PIVOT|POSITIONAL_REFERENCE|DISTINCT_MODIFIER|LIMIT_PERCENT_MODIFIER|SET_OPERATION_NODE)"')
        AND json_array_length(r['node'], '$.group_expressions') + json_array_length(r['node'], '$.group_sets') = 0
        AND concat_ws('', json_type(r['node'], '$.having'), json_type(r['node'], '$.qualify'), json_type(r['node'], '$.sample')) IN ('', 'NULLNULLNULL')
        AND NOT list_has_any([lower(x) FOR x IN json_extract_string(r['node'], '$..function_name')], [@others@, @decomposed@, @random@])
        AND len(list_filter(json_extract(r['node'], '$.modifiers[*]'), lambda m: json_extract_string(m, '$.type') = 'LIMIT_MODIFIER' AND NOT coalesce(
            json_extract_string(r['node'], '$.from_table.type') = 'BASE_TABLE' AND json_type(m, '$.offset') = 'NULL'
            AND coalesce(json_extract_string(m, '$.limit_type'), 'ROW_COUNT') = 'ROW_COUNT' AND TRY_CAST(coalesce(json_extract_string(m, '$.limit.literal.text'),
                json_extract_string(m, '$.limit.value.value')) AS HUGEINT) >= @view_rows@, false))) = 0)], lambda p: len(p['tables']) = 1
                    AND len(list_distinct(p['columns'])) = len(p['columns']))]

-- name: counted_rows
-- What a SELECT counts that has all counts of the statement, if each of them sums weights alone and the view is named once.
CASE WHEN len(@calls@) > 0
    AND NOT list_has_any([lower(x) FOR x IN json_extract_string(tree, '$..function_name')], [@not_weighed@])
    AND len(list_filter(json_extract_string(tree, '$..table_name'), lambda b: lower(b) = @release@)) = 1
    AND NOT regexp_matches(tree, '(?i)"current_(?:role|user)"') AND len(list_distinct([w['name'] FOR w IN @withs@])) = len(@withs@)
THEN [{node: CASE json_extract_string(a, '$.from_table.type') WHEN 'SUBQUERY' THEN json_extract(a, '$.from_table.subquery.node')
        WHEN 'BASE_TABLE' THEN [w['node'] FOR w IN list_filter(@withs@, lambda w: w['name'] = lower(json_extract_string(a, '$.from_table.table_name')))][1] END,
  reader: coalesce(nullif(json_extract_string(a, '$.from_table.alias'), ''), json_extract_string(a, '$.from_table.table_name'), 'unnamed_subquery')}
      FOR a IN list_filter(@selects@, lambda a: json_array_length(a, '$.from_table.column_name_alias') = 0
    AND NOT contains(CAST(json_extract(a, @own@) AS VARCHAR), '"SELECT_NODE"')
    AND len(list_filter(list_filter(flatten([json_extract(x, '$.**') FOR x IN json_extract(a, @own@)]), lambda n: contains(CAST(n AS VARCHAR), '"function_name"')),
        lambda n: lower(json_extract_string(n, '$.function_name')) IN (@counts@))) = len(@calls@))] END

-- name: withs
[{name: lower(json_extract_string(w, '$.key')), node: CASE WHEN json_array_length(w, '$.value.aliases') = 0
    THEN coalesce(json_extract(w, '$.value.query_node'), json_extract(w, '$.value.query.node')) END} FOR w IN json_extract(tree, '$..cte_map.map[*]')]

-- name: passing
-- The view, and each WITH that selects all its columns.
list_concat([@release@], [w['name'] FOR w IN list_filter(@withs@, lambda w: lower(json_extract_string(w['node'], '$.from_table.table_name')) = @release@
    AND len(list_filter(json_extract(w['node'], '$.select_list[*]'), lambda s: json_extract_string(s, '$.type') = 'STAR'
        AND json_extract_string(s, '$.relation_name') = ''
        AND json_extract_string(s, '$.columns') = 'false')) > 0)])

-- name: own
-- The parts of a SELECT, without FROM and WITH.
['$.select_list', '$.where_clause', '$.group_expressions', '$.having', '$.qualify', '$.modifiers']

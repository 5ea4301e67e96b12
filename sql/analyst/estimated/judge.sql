-- judge: whether the statement that reads the view of a release in the schema estimated only counts and sums its rows; an error
-- that says what to write otherwise.
--
-- Every SELECT that reads the view, or a subquery or WITH that hands its rows on, must have an aggregate of the schema, or
-- hand the rows on itself, by SELECT * and nothing that chooses rows by others; or it lists different values: of attributes, all
-- of which are public, or of public columns, in a statement that names attributes in what is counted alone. parsed has the statement as DuckDB's parser
-- reads it; a node belongs to the innermost SELECT around it. weighed says which subquery passes on some columns, whose weights
-- the counts of its rows find by themselves (own_weight).

(WITH RECURSIVE parsed(tree) AS MATERIALIZED (
    _judged_tree
), weighed(place) AS MATERIALIZED (
    SELECT _judged_weighed FROM parsed
), node AS MATERIALIZED (
    SELECT fullkey AS place, value AS it, coalesce(json_extract_string(value, '$.class'), '') AS class,
        json_extract_string(value, '$.type') AS kind, lower(json_extract_string(value, '$.function_name')) AS called,
        coalesce(json_extract_string(value, '$.schema'), '') <> '' AS qualified,
        CASE WHEN called IN (@counts@) THEN 'count' WHEN called IN (@others@) THEN 'other' WHEN called IN (@decomposed@) THEN 'extreme'
            WHEN called IN (@random@) THEN 'random' END AS means
    FROM parsed, json_tree(tree) WHERE type = 'OBJECT'
), own AS MATERIALIZED (
    SELECT n.*, max_by(s.place, len(s.place)) AS owner
    FROM node AS n LEFT JOIN node AS s ON s.kind = 'SELECT_NODE' AND starts_with(n.place, s.place || '.') GROUP BY ALL
), used AS MATERIALIZED (
    SELECT o.owner, o.place, coalesce(lower(json_extract_string(o.it, '$.column_names[#-1]')), '#') AS name, bool_or(c.place IS NOT NULL) AS counted
    FROM own AS o LEFT JOIN own AS c ON c.owner = o.owner AND c.means = 'count' AND starts_with(o.place, c.place || '.')
    WHERE o.class IN ('COLUMN_REF', 'POSITIONAL_REFERENCE') GROUP BY ALL
), mixed AS MATERIALIZED (
    SELECT @sampled@ OR EXISTS (FROM used WHERE name IN (@sensitive@, '#') AND NOT counted) OR EXISTS (FROM node
        WHERE list_has_any([lower(x) FOR x IN json_extract_string(it, '$.using_columns[*]')], [@sensitive@])
            OR greatest(json_array_length(it, '$.column_name_alias'), json_array_length(it, '$.aliases'), json_array_length(it, '$.rename_list')) > 0) AS so
), source AS MATERIALIZED (
    SELECT owner AS reader, place, NULL AS given, coalesce(nullif(json_extract_string(it, '$.alias'), ''), @release@) AS name
    FROM own WHERE kind = 'BASE_TABLE' AND lower(json_extract_string(it, '$.table_name')) = @release@
        AND lower(json_extract_string(it, '$.schema_name')) IN ('', @schema@)
        AND lower(coalesce(json_extract_string(it, '$.catalog_name'), '')) IN ('', lower(current_database()))
    UNION ALL
    SELECT f.owner, f.place, s.place, json_extract_string(f.it, '$.alias') FROM own AS f
    JOIN own AS s ON s.owner = f.owner AND starts_with(s.place, f.place || '.')
    WHERE f.kind = 'SUBQUERY' AND f.class = '' AND s.kind = 'SELECT_NODE'
    UNION ALL
    SELECT f.owner, f.place, s.place, coalesce(nullif(json_extract_string(f.it, '$.alias'), ''), json_extract_string(f.it, '$.table_name'))
    FROM own AS w JOIN own AS s ON s.owner IS NOT DISTINCT FROM w.owner AND starts_with(s.place, w.place || '.')
    JOIN own AS f ON lower(json_extract_string(f.it, '$.table_name')) = lower(json_extract_string(w.it, '$.key'))
    WHERE regexp_matches(w.place, '\.cte_map\.map\[\d+\]$') AND f.kind = 'BASE_TABLE' AND s.kind = 'SELECT_NODE'
        AND lower(json_extract_string(f.it, '$.table_name')) <> @release@
), found AS MATERIALIZED (
    SELECT s.place, s.it,
        coalesce(bool_or(o.class = 'FUNCTION' AND NOT o.qualified AND o.means = 'count'), false) AS counts,
        coalesce(bool_or(o.class = 'FUNCTION' AND o.means = 'other'), false) AS others,
        coalesce(bool_or(o.qualified AND o.means IN ('count', 'other')), false) AS qualified,
        coalesce(bool_or(o.class = 'FUNCTION' AND o.means = 'extreme'), false) AS decomposed,
        coalesce(bool_or(o.class = 'WINDOW'), false) AS windows,
        coalesce(bool_or(o.kind = 'WINDOW_AGGREGATE'), false) AS over,
        coalesce(bool_or(o.means = 'random' OR json_type(o.it, '$.sample') = 'OBJECT'
            OR o.kind = 'STAR' AND NOT starts_with(o.place, s.place || '.modifiers') AND (json_extract_string(o.it, '$.columns') = 'true' OR json_type(o.it, '$.expr') = 'OBJECT')), false)
            OR json_type(s.it, '$.sample') = 'OBJECT' AS chosen,
        coalesce(bool_or(starts_with(o.place, s.place || '.select_list[') AND o.kind = 'STAR'), false) AS star,
        coalesce(bool_or(starts_with(o.place, s.place || '.select_list[') AND o.kind = 'STAR'
            AND (json_extract_string(o.it, '$.relation_name') = '' OR json_extract_string(s.it, '$.from_table.type') <> 'JOIN')), false) AS whole,
        coalesce(bool_or(o.called IN ('count_stderr', 'count_low', 'count_high')
            AND coalesce(json_array_length(o.it, '$.children'), 0) + coalesce(json_array_length(o.it, '$.arguments'), 0) = 0), false)
            AND NOT coalesce(bool_or(o.called = 'count_star'), false)
            AND coalesce(bool_or(o.called IN (@valued@)), false) AS whose
    FROM node AS s LEFT JOIN own AS o ON o.owner = s.place WHERE s.kind = 'SELECT_NODE' GROUP BY s.place, s.it
), fact AS MATERIALIZED (
    SELECT * REPLACE (counts OR decomposed AND NOT so AS counts), decomposed AND so AS unknown,
        NOT (counts OR others OR decomposed OR windows OR chosen OR star)
        AND (json_array_length(it, '$.group_expressions') > 0
            OR list_contains(json_extract_string(it, '$.modifiers[*].type'), 'DISTINCT_MODIFIER'))
        AND json_array_length(it, '$.group_sets') < 2 AND coalesce(json_array_length(it, '$.modifiers[0].distinct_on_targets'), 0) = 0
        AND coalesce(json_type(it, '$.having'), 'NULL') = 'NULL' AND coalesce(json_type(it, '$.qualify'), 'NULL') = 'NULL'
        AND (NOT so OR lower(json_extract_string(it, '$.from_table.table_name')) = @release@
            AND NOT EXISTS (FROM used AS u WHERE starts_with(u.place, f.place || '.') AND u.name NOT IN (@sensitive@))
            AND f.place NOT IN (SELECT place || '.subquery.node' FROM node WHERE json_extract_string(it, '$.subquery_type') = 'EXISTS')) AS lists
    FROM found AS f, mixed
), reading(place) AS (
    SELECT reader FROM source WHERE given IS NULL
    UNION
    SELECT s.reader FROM reading AS r JOIN fact AS f USING (place) JOIN source AS s ON s.given = r.place WHERE NOT f.counts AND NOT f.lists
), leaf AS MATERIALIZED (
    SELECT DISTINCT s.reader, s.place, s.name FROM source AS s LEFT JOIN fact AS f ON f.place = s.given
    LEFT JOIN reading AS r ON r.place = s.given WHERE s.given IS NULL OR NOT f.counts AND NOT f.lists AND r.place IS NOT NULL
), groups AS MATERIALIZED (
    SELECT DISTINCT s.reader, lower(json_extract_string(i.it, '$.alias')) AS name, json_type(f.it, '$.having') = 'OBJECT' AS having
    FROM source AS s JOIN fact AS f ON f.place = s.given JOIN reading AS r ON r.place = f.place
    JOIN own AS i ON i.owner = f.place AND regexp_matches(i.place, '\.select_list\[\d+\]$')
    JOIN own AS c ON c.owner = f.place AND c.means = 'count' AND starts_with(c.place, i.place)
), misused AS MATERIALIZED (
    SELECT l.reader, min(l.place) <> max(l.place) AS twice,
        coalesce(bool_or(o.class = '' AND o.kind IN ('JOIN', 'PIVOT') AND starts_with(l.place, o.place || '.') AND (o.kind = 'PIVOT'
            OR json_extract_string(o.it, '$.ref_type') NOT IN ('REGULAR', 'CROSS')
            OR json_extract_string(o.it, '$.join_type') NOT IN ('INNER', 'LEFT')
            OR json_extract_string(o.it, '$.join_type') = 'LEFT' AND starts_with(l.place, o.place || '.right'))), false) AS joined,
        coalesce(bool_or(o.kind = 'STAR' AND lower(json_extract_string(o.it, '$.relation_name')) = lower(l.name)), false) AS handed,
        coalesce(bool_or(o.class = 'COLUMN_REF' AND lower(json_extract_string(o.it, '$.column_names[#-1]')) = lower(l.name)
            -- A column of that name goes before the row.
            AND NOT (lower(l.name) IN (@of_view@) AND (json_array_length(o.it, '$.column_names') = 1
                OR lower(json_extract_string(o.it, '$.column_names[#-2]')) = lower(l.name)))), false) AS row
    FROM leaf AS l LEFT JOIN own AS o ON o.owner = l.reader GROUP BY l.reader
), wrong(says) AS (
    SELECT CASE
        WHEN f.qualified THEN @says.qualified@
        WHEN f.others THEN @says.sums@
        WHEN f.unknown THEN @says.public@
        WHEN m.twice THEN @says.twice@
        WHEN m.joined THEN @says.join@
        WHEN f.chosen THEN @says.chosen@
        WHEN f.counts AND f.over THEN @says.over@
        WHEN f.counts AND f.whose THEN @says.whose@
        WHEN m.row THEN @says.rows@
        WHEN f.lists THEN NULL
        WHEN f.counts THEN CASE WHEN f.star THEN @says.rows@ END
        WHEN regexp_matches(f.place, '\.(?:left|right|children\[\d+\])$') THEN @says.set@
        WHEN s.given IS NOT NULL AND md5(CAST(f.it AS VARCHAR)) = (SELECT place FROM weighed) THEN NULL
        WHEN f.windows OR json_type(f.it, '$.having') = 'OBJECT' OR json_type(f.it, '$.qualify') = 'OBJECT'
            OR json_array_length(f.it, '$.group_expressions') > 0
            OR len(list_filter(json_extract_string(f.it, '$.modifiers[*].type'), lambda m: m <> 'ORDER_MODIFIER')) > 0 THEN @says.chosen@
        WHEN s.given IS NULL THEN @says.rows@
        WHEN NOT f.whole AND NOT m.handed THEN @says.handed@ END
    FROM reading AS r JOIN fact AS f ON f.place = r.place LEFT JOIN misused AS m ON m.reader = r.place
    LEFT JOIN (SELECT DISTINCT given FROM source) AS s ON s.given = r.place
    UNION ALL
    SELECT @says.other@ FROM fact AS f JOIN reading AS r ON starts_with(f.place, r.place || '.') LEFT JOIN reading AS e ON e.place = f.place
    WHERE (f.counts OR f.others OR f.decomposed) AND e.place IS NULL AND NOT starts_with(f.place, r.place || '.cte_map')
    UNION ALL
    SELECT CASE WHEN a.called IN (@squared@) THEN @says.squares@
        WHEN a.called = '*' AND NOT contains(CAST(p.tree AS VARCHAR), '_stderr') AND system.main.count(DISTINCT u.place) > 1
            AND EXISTS (FROM own AS t WHERE t.owner = a.owner AND t.called IN ('sum', 'avg', 'mean') AND starts_with(a.place, t.place || '.')) THEN @says.squares@
        WHEN a.called IN ('sum', 'avg', 'mean') AND bool_or(g.having OR EXISTS (FROM used AS w JOIN groups AS h ON h.reader = w.owner AND h.name = w.name
            WHERE w.owner = a.owner AND starts_with(w.place, w.owner || '.where_clause'))) THEN @says.selected@
        WHEN a.called IN ('max', 'min') AND NOT regexp_matches(a.owner, '\.(?:where_clause|having|qualify)\b.*\.subquery\.node$')
            AND NOT EXISTS (FROM own AS k WHERE k.owner = a.owner AND (k.class = 'CASE' AND starts_with(k.place, a.place || '.') OR k.place = a.place || '.filter'))
            THEN @says.extreme@ END
    FROM groups AS g JOIN used AS u ON u.owner = g.reader AND u.name = g.name JOIN own AS a ON a.owner = g.reader AND a.class = 'FUNCTION'
        AND starts_with(u.place, a.place || '.'), parsed AS p GROUP BY a.called, a.owner, a.place, p.tree
    UNION ALL
    SELECT @says.unseen@ FROM reading HAVING system.main.count_star() = 0
    UNION ALL
    SELECT @says.unseen@ FROM node WHERE called IN ('query', 'query_table', 'json_execute_serialized_sql')
    UNION ALL
    SELECT @says.weight@ FROM parsed WHERE regexp_matches(CAST(tree AS VARCHAR), '(?i)"current_(?:role|user)"')
)
SELECT CASE WHEN max(says) IS NULL THEN true ELSE error(max(says)) END FROM wrong)

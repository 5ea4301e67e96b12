-- guard: whether the statement that reads the view of a release in the schema estimated only sums its rows; an error otherwise.
--
-- The rows of the view have weights, and only what the aggregates of the schema make of them means something. So the text of
-- the statement is taken apart: every SELECT that reads the view, or a subquery that hands its rows on, must have one of these
-- aggregates. @release@ is the name of the view, @statement@ the text of the statement. Most statements are one SELECT of the
-- view and nothing else, which one look shows (plain); the text of the reduction is bound for others only.

-- name: guard
-- The query that says it. Macros of the reader's are looked for, which takes its time, only where a call is not a well-known one;
-- temporary tables only where the schema is written before the view, as the name alone would be theirs.
[[CASE WHEN known AND (@plain@) AND NOT system.main.contains(system.main.lower(@statement@), 'estimated') THEN 'SELECT true'
    ELSE system.main.replace(@reduced@, '_priv_macro_is_called', CASE WHEN known THEN 'false' ELSE @macro@ END) END
  FOR known IN [@known@]][1]
 FOR words IN [@words@]][1]

-- name: known
-- Whether every call is of a function that everybody knows.
NOT system.main.regexp_matches(
    system.main.regexp_replace(words, ' (?:@count_names@|@known_calls@) \(', ' ~ (', 'g'), '[^ ,(~=<>+*/|%-] \( ')

-- name: macro
-- Whether a macro of the reader's is called, which may read the view where no text shows it.
EXISTS (SELECT 1 FROM system.main.duckdb_functions() WHERE function_type IN ('macro', 'table_macro') AND NOT internal
    AND schema_name <> 'estimated' AND system.main.contains(system.main.replace(n.words, '"', ''),
        ' ' || system.main.regexp_replace(system.main.lower(function_name), '[^a-z0-9_\x{80}-\x{10FFFF}]', '_', 'g') || ' ('))

-- name: words
-- The statement as words between spaces. Literals, comments and names that say nothing become one sign each, the view is @v.
[system.main.regexp_replace(system.main.regexp_replace(system.main.replace(system.main.regexp_replace(_priv_words,
        ' (?:"?' || system.main.regexp_escape(system.main.lower(system.main.current_database()))
        || '"? \. )?(?:estimated|"estimated") \. @v ', ' @v ', 'g'),
        ' distinct from ', ' = '), ' @v \. ', ' ', 'g'),
        ' "?(?:columns|random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval|currval|setval|setseed)"? \( ', ' @xchosen ( ', 'g')
 FOR _priv_words IN [' ' || system.main.list_aggregate([CASE
        WHEN t[1] = '''' OR t[:2] = 'e''' THEN ''''
        WHEN t = @release@ OR t[1] = '"' AND system.main.replace(t[2:-2], '""', '"') = @release@ THEN '@v'
        WHEN t IN ('current_role', 'current_user', '"current_role"', '"current_user"') THEN '@xweight'
        WHEN t[1] = '"' THEN '"' || system.main.regexp_replace(t[2:-2], '[^a-z0-9_\x{80}-\x{10FFFF}]', '_', 'g') || '"'
        WHEN t[1] = '$' AND t[-1] = '$' OR t[:2] = '/*' THEN '@xtext'
        ELSE t END
    FOR t IN system.main.regexp_extract_all(system.main.lower(@statement@),
        '--[^\n\r]*|/\*(?s:.*?)\*/|e''(?:[^''\\]|\\(?s:.)|'''')*''|''(?:[^'']|'''')*''|"(?:[^"]|"")*"|\$[a-z_0-9]*\$|[a-z_\x{80}-\x{10FFFF}][a-z0-9_$\x{80}-\x{10FFFF}]*|[0-9][0-9a-z_.]*|\S')
    IF t[:2] <> '--' AND (t[:2] <> '/*' OR system.main.contains(t[3:], '/*'))], 'string_agg', ' ') || ' ']][1]

-- name: plain
-- Whether these words are one SELECT of the view alone, with an aggregate of the schema and nothing that chooses or turns rows.
system.main.regexp_matches(words, '^ select [^@;]* from @v (?:(?:where|group|having|order|limit) [^@;]*)?(?:; )?$')
AND system.main.regexp_matches(words, ' (?:@count_names@) \( ')
AND NOT system.main.regexp_matches(words,
    ' (?:select .* select|from .* from|with|over|distinct|filter|join|union|intersect|except|lambda|->|lateral|window|qualify|using|sample|tablesample|fetch|exists|within|(?:select|,) (?:\S+ \. )?\*|(?:\. \S+|"\S*) \() ')

-- name: reduction
-- Whether the statement sums, for every other statement. Parentheses are reduced from the inside out, to @v or @r where rows
-- of the view come out of them, @q where counted groups do, @a where there is an aggregate, @n where something else is
-- aggregated, @s and @z where by another aggregate or one of another schema, @e otherwise, and @x followed by the reason
-- where something is refused. What cannot be read is refused.
WITH RECURSIVE
_priv_named AS MATERIALIZED (
    SELECT @words@ AS words
),
_priv_state(words) AS (
    SELECT ' (' || system.main.regexp_replace(CASE
        WHEN system.main.regexp_matches(words, '^[^(@]* (select|with|from) ')
            THEN system.main.regexp_extract(words, '^[^(@]*?( (?:select|with|from) .*)$', 1)
        ELSE words END, ' ; $', ' ') || ') '
    FROM _priv_named
    UNION ALL
    SELECT head
        || CASE WHEN result = '@a' AND counts THEN ' @a' ELSE called || ' ' || result END
        || CASE WHEN result = '@r' AND name <> '' THEN
            system.main.replace(system.main.replace(system.main.replace(tail,
                ' ' || name || ' ', ' @v '), ' "' || name || '" ', ' @v '), ' @v . ', ' ')
        ELSE tail END
    FROM (
        SELECT *, CASE
            WHEN inner_words = '' THEN '@xtext'
            WHEN system.main.contains(inner_words, ' @x') THEN system.main.regexp_extract(inner_words, '(@x[a-z]+)', 1)
            WHEN aggregate AND qualified THEN '@z'
            WHEN aggregate AND NOT counts THEN '@s'
            WHEN counts THEN CASE WHEN raw THEN '@xrows' ELSE '@a' END
            WHEN NOT query THEN CASE
                WHEN raw THEN CASE WHEN called IN (' from', ' ,', ' join', ' lateral') THEN '@r' ELSE '@xrows' END
                WHEN system.main.regexp_matches(inner_words, ' @[zsna] ') THEN system.main.regexp_extract(inner_words, ' (@[zsna]) ', 1)
                ELSE '@e' END
            WHEN NOT raw THEN CASE WHEN system.main.regexp_matches(inner_words, ' @[an] ') THEN '@n' ELSE '@q' END
            WHEN several THEN CASE WHEN selects
                THEN '(' || ' (' || system.main.regexp_replace(one, ' ((?:union|intersect|except)(?: all| distinct)?(?: by name)?) ', ' ) \1 ( ', 'g') || ') )'
                ELSE '@xset' END
            WHEN one = ' @r ' THEN '@r'
            WHEN one[:6] = ' with ' OR system.main.contains(inner_words, ' recursive ') THEN '@xrows'
            WHEN system.main.contains(one, ' @z ') THEN '@xqualified'
            WHEN system.main.contains(one, ' @s ') THEN '@xsums'
            WHEN system.main.contains(one, ' @n ') THEN '@xother'
            WHEN source = '' OR system.main.regexp_matches(selected || rest, ' @[vr] ') THEN '@xrows'
            WHEN system.main.regexp_matches(source, ' @[vr] .* @[vr] ') THEN '@xtwice'
            WHEN system.main.regexp_matches(source,
                ' (?:(?:right|full|semi|anti|asof|natural|positional|pivot|unpivot) |left (?:outer )?join (?:lateral )?@[vr] )') THEN '@xjoin'
            WHEN NOT system.main.regexp_matches(' ,' || source, ' (?:,|join|lateral) @[vr] ') THEN '@xrows'
            WHEN system.main.regexp_matches(rest, ' (?:sample|tablesample) ') THEN '@xchosen'
            WHEN system.main.contains(one, ' @a over ') THEN '@xover'
            WHEN system.main.contains(one, ' @a ') THEN
                CASE WHEN system.main.regexp_matches(selected, '(?:^|,) (?:\S+ \. )?\*(?: |$)') THEN '@xrows' ELSE '@q' END
            WHEN system.main.regexp_matches(selected, ' (?:distinct|over) ')
                OR system.main.regexp_matches(rest, ' (?:group|having|window|qualify|limit|offset|fetch) ') THEN '@xchosen'
            ELSE '@r' END AS result
        FROM (
            SELECT *,
                system.main.regexp_replace(remainder, ' (?:where|group|having|window|qualify|order|limit|offset|fetch|using sample|tablesample) .*$', ' ') AS source,
                system.main.regexp_extract(remainder, ' (?:where|group|having|window|qualify|order|limit|offset|fetch|using sample|tablesample) .*$') AS rest
            FROM (
                SELECT *,
                    system.main.regexp_extract(one, '^ select( .*?) from ', 1) AS selected,
                    system.main.regexp_extract(one, '^ select .*? from( .*)$', 1) AS remainder,
                    system.main.regexp_matches(one, ' (?:union|intersect|except) ') AS several,
                    system.main.regexp_matches(one, ' (?:select|from) ') AS selects
                FROM (
                    SELECT *, CASE
                        WHEN body[:6] <> ' from ' OR system.main.regexp_matches(body, ' (?:union|intersect|except) ') THEN body
                        WHEN system.main.contains(body, ' select ') THEN system.main.regexp_replace(body,
                            '^ from (.*?) select (.*?)( (?:where|group|having|window|qualify|order|limit|offset|fetch|using sample) .*)?$',
                            ' select \2 from \1\3 ')
                        ELSE ' select *' || body END AS one
                    FROM (
                        SELECT *,
                            system.main.regexp_matches(inner_words, '^ (?:select|with|from|values|table|pivot|unpivot|describe|summarize|show|@[qrn]) ')
                                OR outermost AS query,
                            system.main.regexp_matches(inner_words, ' @[vr] ') AS raw,
                            called IN (@counts@) AS counts, called IN (@counts@, @others@) AS aggregate,
                            system.main.right(head, 2) = ' .' AS qualified,
                            CASE WHEN called IN (' as', ' materialized') THEN system.main.regexp_extract(head || called,
                                ' "?([^ "]+)"?(?: @e)? as(?: not)?(?: materialized)?$', 1) ELSE '' END AS name,
                            system.main.regexp_replace(inner_words,
                                '^ with (?:[^ (]+(?: @e)? as (?:not )?(?:materialized )?@[qrn](?: ,)? )+', ' ') AS body
                        FROM (
                            SELECT system.main.regexp_replace(start, ' \S+$', '') AS head,
                                system.main.regexp_extract(start, '( \S+)$', 1) AS called,
                                inner_words, tail, start = '' AND tail = ' ' AS outermost
                            FROM (
                                SELECT system.main.regexp_extract(words, '^(.*?) \(( [^()]*)\) ', 1) AS start,
                                    system.main.regexp_extract(words, '^.*? \(( [^()]*)\) ', 1) AS inner_words,
                                    ' ' || system.main.regexp_extract(words, '^.*? \( [^()]*\) (.*)$', 1) AS tail
                                FROM _priv_state WHERE system.main.contains(words, '(')
                            )
                        )
                    )
                )
            )
        )
    )
)
SELECT CASE
    WHEN NOT system.main.contains(n.words, ' @v ')
        OR system.main.regexp_matches(n.words, ' "?(?:query|query_table|json_execute_serialized_sql)"? \( ') THEN system.main.error(@says.unseen@)
    WHEN _priv_macro_is_called OR EXISTS (SELECT 1 FROM system.main.duckdb_views() WHERE NOT internal
        AND system.main.contains(system.main.replace(n.words, '"', ''),
            ' ' || system.main.regexp_replace(system.main.lower(view_name), '[^a-z0-9_\x{80}-\x{10FFFF}]', '_', 'g') || ' '))
        THEN system.main.error(@says.through@)
    WHEN EXISTS (SELECT 1 FROM system.main.duckdb_tables() WHERE temporary AND system.main.lower(table_name) = @release@)
        OR EXISTS (SELECT 1 FROM system.main.duckdb_views() WHERE temporary AND system.main.lower(view_name) = @release@)
        THEN system.main.error(@says.hidden@)
    WHEN system.main.len([a FOR a IN system.main.regexp_extract_all(n.words, ' @v (?:as )?"?([a-z0-9_]+)"? ', 1)
        IF system.main.contains(system.main.replace(system.main.replace(system.main.replace(system.main.replace(
            n.words, '"', ''), ' @v as ' || a || ' ', ' @v '), ' @v ' || a || ' ', ' @v '), ' ' || a || ' . ', ' . '), ' ' || a || ' ')
        AND a NOT IN (@beside_a_table@)]) > 0 THEN system.main.error(@says.rows@)
    WHEN s.words = ' @q ' THEN true
    ELSE system.main.error(CASE system.main.regexp_extract(s.words, '@[xn][a-z]*')
        WHEN '@n' THEN @says.other@
        WHEN '@xother' THEN @says.other@
        WHEN '@xset' THEN @says.set@
        WHEN '@xtwice' THEN @says.twice@
        WHEN '@xjoin' THEN @says.join@
        WHEN '@xover' THEN @says.over@
        WHEN '@xchosen' THEN @says.chosen@
        WHEN '@xtext' THEN @says.text@
        WHEN '@xweight' THEN @says.weight@
        WHEN '@xsums' THEN @says.sums@
        WHEN '@xqualified' THEN @says.qualified@
        ELSE @says.rows@ END)
END
FROM _priv_state AS s, _priv_named AS n WHERE NOT system.main.contains(s.words, '(')

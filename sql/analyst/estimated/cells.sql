-- cells: the text of the query that the view of a release in the schema estimated reads, made of the text of the statement.
--
-- A column that the statement does not name is not grouped by, an attribute that it does not name is not laid out, and reading
-- either is an error. @columns@ says of each column what stands in the query if it is named, and if not. All columns may have to
-- be laid out where a WITH selects them all, as DuckDB does if it is read twice.

[[[system.main.concat(
    'SELECT ', system.main.list_aggregate([CASE WHEN @named@ THEN (c).shown ELSE (c).hidden END FOR c IN columns], 'string_agg', ''),
    'c._priv_n', (k).weights, @weight@,
    CASE WHEN (k).spread THEN system.main.concat(@row@, system.main.list_aggregate([(c).place FOR c IN (k).asked], 'string_agg', ''),
        ', w: 1e0', (k).weights, @moments@) ELSE @no_row@ END,
    @spread@, CASE WHEN (k).spread THEN 'SELECT *, system.main.row_number() OVER () AS _priv_cell FROM (' END,
    'SELECT ', system.main.list_aggregate([(c).grouped FOR c IN (k).asked], 'string_agg', ''), @counted@,
    CASE WHEN (k).spread THEN ')' END, ') AS c',
    system.main.list_aggregate([(c).law FOR c IN (k).asked], 'string_agg', ''),
    CASE WHEN NOT system.main.regexp_matches(system.main.version(), @known_versions@) THEN @no_new_aggregate@ END)
  FOR k IN [{asked: asked, weights: system.main.list_aggregate([(c).weight FOR c IN asked], 'string_agg', ''),
        spread: (q).every OR (q).spread}
    FOR asked IN [[c FOR c IN columns IF @named@]]]][1]
 FOR columns IN [@columns@]][1]
FOR q IN [{text: t, names: system.main.replace(t, '""', '"'),
        spread: system.main.regexp_matches(t, 'count_(?:stderr|low|high)'),
        every: system.main.contains(t, 'with') AND system.main.regexp_matches(t, '(?:select|,|\.|distinct)\s*\*')}
    FOR t IN [system.main.lower(@statement@)]]][1]

-- How the marked records of a publication compare with what the ledger keeps of others: duckdb_priv/ledger/marks.py.

-- name: fresh
CREATE OR REPLACE TEMP TABLE temp.main._priv_fresh AS
FROM (SELECT mark, @value@ AS value, @person@ AS person FROM temp.main._priv_mark)
ANTI JOIN (FROM priv.mark WHERE draw = $1::UBIGINT) AS known USING (mark, value)

-- name: comparison
WITH known AS (FROM priv.mark WHERE draw = $1::UBIGINT),
look AS (
    SELECT count(*) FILTER (epoch = $2) AS looks
    FROM temp.main._priv_fresh AS f JOIN known USING (mark) GROUP BY f.mark
)
SELECT (SELECT count(*) FROM temp.main._priv_fresh), (SELECT count(*) FROM temp.main._priv_fresh ANTI JOIN known USING (mark)),
    (SELECT coalesce(max(looks), 0) FROM look)

-- name: same_places
SELECT theirs.publication, coalesce(list(mine.place ORDER BY mine.place) FILTER (mine.sensitive), []) AS mine,
    coalesce(list(theirs.place ORDER BY mine.place) FILTER (mine.sensitive), []) AS theirs,
    coalesce(list(mine.place ORDER BY mine.place) FILTER (NOT mine.sensitive), []) AS mine_public,
    coalesce(list(theirs.place ORDER BY mine.place) FILTER (NOT mine.sensitive), []) AS theirs_public
FROM temp.main._priv_held_column AS mine JOIN priv.seen_column AS theirs USING (attribute, sensitive)
WHERE theirs.publication IN (@publications@) GROUP BY theirs.publication

-- name: moved
WITH same AS (@same_places@),
pair AS (
    SELECT mine.mark, len(mine_public) AS common,
        list_select(mine.marks, mine_public) AS mine, list_select(seen.marks, theirs_public) AS theirs
    FROM temp.main._priv_held AS mine JOIN priv.seen AS seen USING (mark) JOIN same USING (publication)
    WHERE seen.publication IN (@publications@) AND common > 0
)
SELECT count(*), count(*) FILTER (NOT here) FROM (
    SELECT bool_or(mine = theirs OR 2 * len(list_filter(list_zip(mine, theirs), lambda x: x[1] <> x[2])) < common) AS here
    FROM pair GROUP BY mark
)

-- name: forget_redrawn
DELETE FROM priv.mark AS known USING (SELECT mark, @value@ AS value FROM temp.main._priv_mark) AS mine
WHERE draw = $1::UBIGINT AND known.mark = mine.mark AND known.value = mine.value

-- name: keep
INSERT INTO priv.mark SELECT $1, mark, @value@, @person@, $2 FROM @records@

-- name: same_sample
SELECT (SELECT (count(*), sum(hash(mark, marks)::HUGEINT)) FROM temp.main._priv_held)
    = (SELECT (count(*), sum(hash(mark, marks)::HUGEINT)) FROM priv.seen WHERE publication = $1)
AND (SELECT list((place, attribute, sensitive) ORDER BY place) FROM temp.main._priv_held_column)
    = (SELECT list((place, attribute, sensitive) ORDER BY place) FROM priv.seen_column WHERE publication = $1)

-- name: keep_sample
DELETE FROM priv.seen WHERE publication = @publication@;
DELETE FROM priv.seen_column WHERE publication = @publication@;
INSERT INTO priv.seen SELECT @publication@, mark, marks FROM temp.main._priv_held;
INSERT INTO priv.seen_column SELECT @publication@, place, attribute, sensitive FROM temp.main._priv_held_column

-- name: moves
WITH same AS (@same_places@),
mine AS (FROM temp.main._priv_held WHERE mark <= $1::UBIGINT),
theirs AS (FROM priv.seen WHERE publication IN (@publications@) AND mark <= $1::UBIGINT),
pair AS (
    SELECT list_select(mine.marks, mine) <> list_select(theirs.marks, theirs) AS redrawn,
        list_select(mine.marks, mine_public) <> list_select(theirs.marks, theirs_public) AS placed
    FROM mine JOIN theirs USING (mark) JOIN same USING (publication)
)
SELECT (SELECT count(*) FROM mine ANTI JOIN theirs USING (mark)),
    (SELECT count(*) FROM theirs ANTI JOIN mine USING (mark)),
    count(*) FILTER (redrawn), count(*) FILTER (placed AND NOT redrawn) FROM pair

-- name: columns_to_compare
SELECT theirs.publication, mine.attribute, mine.place, theirs.attribute, theirs.sensitive, theirs.place
FROM temp.main._priv_held_column AS mine
JOIN priv.seen_column AS theirs ON (mine.sensitive OR theirs.sensitive) AND mine.attribute <> theirs.attribute
WHERE theirs.publication IN (@publications@) AND mine.attribute <> '*' AND theirs.attribute <> '*'

-- name: in_both_samples
SELECT mine.marks AS mine, seen.marks AS theirs
FROM temp.main._priv_held AS mine JOIN priv.seen AS seen USING (mark)
WHERE mark <= @limit@::UBIGINT AND publication IN (@publications@)

-- name: shared_ids
WITH other AS (
    SELECT population, publication, any_value(level) AS level FROM priv.ledger
    WHERE population <> $1 AND level IS NOT NULL GROUP BY ALL
),
found AS (
    SELECT other.population, other.publication, count(DISTINCT mark) AS ids, any_value(greatest(other.level, $2)) AS level
    FROM temp.main._priv_held AS mine JOIN priv.seen AS seen USING (mark) JOIN other ON other.publication = seen.publication
    WHERE mark <= 18446744073709551615::UBIGINT >> greatest(other.level, $2) GROUP BY ALL
)
SELECT population, max(ids << level)::BIGINT FROM found GROUP BY population ORDER BY population

-- How the marked records of a publication compare with what the ledger keeps of others: duckdb_priv/ledger/marks.py.

-- name: fresh
CREATE OR REPLACE TEMP TABLE temp.main._priv_fresh AS
FROM (SELECT mark, @value@ AS value, person FROM temp.main._priv_mark)
ANTI JOIN (FROM priv.mark WHERE draw = $1::UBIGINT) AS known USING (mark, value)

-- name: comparison
WITH known AS (FROM priv.mark WHERE draw = $1::UBIGINT),
look AS (
    SELECT count(*) FILTER (epoch = $2) AS looks
    FROM temp.main._priv_fresh AS f JOIN known USING (mark) GROUP BY f.mark
)
SELECT (SELECT count(*) FROM temp.main._priv_fresh), (SELECT count(*) FROM temp.main._priv_fresh ANTI JOIN known USING (mark)),
    (SELECT coalesce(max(looks), 0) FROM look)

-- name: moved
WITH pair AS (
    SELECT mine.mark, count(*) AS common, count(*) FILTER (mine.value <> seen.value) AS differ
    FROM temp.main._priv_held AS mine JOIN priv.seen AS seen USING (mark, attribute)
    WHERE NOT mine.sensitive AND NOT seen.sensitive AND seen.publication IN (@publications@)
    GROUP BY mine.mark, seen.publication
)
SELECT count(*), count(*) FILTER (NOT here)
FROM (SELECT bool_or(2 * differ < common) AS here FROM pair GROUP BY mark)

-- name: forget_redrawn
DELETE FROM priv.mark AS known USING (SELECT mark, @value@ AS value FROM temp.main._priv_mark) AS mine
WHERE draw = $1::UBIGINT AND known.mark = mine.mark AND known.value = mine.value

-- name: keep
INSERT INTO priv.mark SELECT $1, mark, @value@, person, $2 FROM @records@

-- name: same_sample
SELECT (SELECT (count(*), sum(hash(mark, attribute, sensitive, value)::HUGEINT)) FROM temp.main._priv_held)
    = (SELECT (count(*), sum(hash(mark, attribute, sensitive, value)::HUGEINT)) FROM priv.seen WHERE publication = $1)

-- name: keep_sample
INSERT INTO priv.seen SELECT $1, mark, attribute, sensitive, value FROM temp.main._priv_held

-- name: moves
WITH mine AS (SELECT mark, attribute, sensitive, value FROM temp.main._priv_held WHERE mark <= $2::UBIGINT),
theirs AS (SELECT mark, attribute, sensitive, value FROM priv.seen WHERE publication = $1 AND mark <= $2::UBIGINT),
other AS (
    SELECT mine.mark, bool_or(mine.sensitive) AS redrawn
    FROM mine JOIN theirs USING (mark, attribute, sensitive) WHERE mine.value <> theirs.value GROUP BY mine.mark
)
SELECT (SELECT count(DISTINCT mark) FROM mine ANTI JOIN theirs USING (mark)),
    (SELECT count(DISTINCT mark) FROM theirs ANTI JOIN mine USING (mark)),
    (SELECT count(*) FROM other WHERE redrawn), (SELECT count(*) FROM other WHERE NOT redrawn)

-- name: latest_of_each_column
WITH entry AS (
    FROM priv.ledger WHERE population = $1 AND level IS NOT NULL
    QUALIFY published_at = max(published_at) OVER (PARTITION BY publication)
),
held AS (
    SELECT lower(unnest(public)) AS attribute, false AS sensitive, publication FROM entry
    UNION ALL SELECT lower(attribute), true, publication FROM entry WHERE mechanism <> 'public'
)
SELECT attribute, sensitive, max(publication) FROM held GROUP BY ALL

-- name: agreement_of_columns
WITH latest (attribute, sensitive, publication) AS
    (SELECT unnest($1::VARCHAR[]), unnest($2::BOOLEAN[]), unnest($3::BIGINT[])),
theirs AS (
    FROM priv.seen SEMI JOIN latest USING (publication, attribute, sensitive)
    WHERE mark <= $4::UBIGINT AND publication IN (@publications@)
),
cell AS (
    SELECT mine.attribute AS a, mine.sensitive AS b, theirs.attribute AS c, theirs.sensitive AS d,
        mine.value AS u, theirs.value AS v, count(*) AS rows
    FROM temp.main._priv_held AS mine JOIN theirs USING (mark)
    WHERE (mine.sensitive OR theirs.sensitive) AND mine.attribute <> theirs.attribute
        AND mine.attribute <> '*' AND theirs.attribute <> '*'
    GROUP BY ALL
),
agreed AS (
    SELECT a, b, c, d, sum(rows) AS rows, coalesce(sum(rows) FILTER (u = v), 0) AS same FROM cell GROUP BY ALL
),
mine_of AS (SELECT a, b, c, d, u AS value, sum(rows) AS rows FROM cell GROUP BY ALL),
theirs_of AS (SELECT a, b, c, d, v AS value, sum(rows) AS rows FROM cell GROUP BY ALL),
chance AS (
    SELECT a, b, c, d, sum(mine_of.rows * theirs_of.rows) AS pairs
    FROM mine_of JOIN theirs_of USING (a, b, c, d, value) GROUP BY ALL
)
SELECT a, c, d, rows, same, coalesce(pairs, 0) / rows FROM agreed LEFT JOIN chance USING (a, b, c, d)

-- name: shared_ids
WITH other AS (
    SELECT population, publication, any_value(level) AS level FROM priv.ledger
    WHERE population <> $1 AND level IS NOT NULL GROUP BY ALL
),
mine AS (SELECT mark FROM temp.main._priv_mark WHERE mark <= 18446744073709551615::UBIGINT >> $2),
found AS (
    SELECT other.population, other.publication, count(DISTINCT mark) AS ids, any_value(greatest(other.level, $2)) AS level
    FROM mine JOIN priv.seen AS seen USING (mark) JOIN other ON other.publication = seen.publication
    WHERE mark <= 18446744073709551615::UBIGINT >> greatest(other.level, $2) GROUP BY ALL
)
SELECT population, max(ids << level)::BIGINT FROM found GROUP BY population ORDER BY population

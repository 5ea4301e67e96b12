-- What the ledger is asked: duckdb_priv/ledger.

-- name: history
-- The charges of a draw, or of attributes that are published in groups.
SELECT number, release, mechanism, adds, whole, records, coalesce(new_records, 0) AS came, person_adds,
    publication, digest, CASE WHEN grouped THEN parameters END AS grouping
FROM priv.ledger
WHERE coins = $1 OR (grouped AND population = $2 AND list_contains($3::VARCHAR[], lower(attribute)))

-- name: last_of_release
FROM priv.ledger WHERE lower(release) = lower(?) AND mechanism <> 'public'
QUALIFY published_at = max(published_at) OVER () ORDER BY number

-- name: last_of_attribute
FROM priv.ledger WHERE population = ? AND mechanism <> 'public' AND lower(attribute) = lower(?)
QUALIFY number = max(number) OVER ()

-- name: numbers
-- The last number, the entries with some draws, the number of an identical publication, and the own number of the release,
-- unless another release shares it.
SELECT coalesce(max(number), 0), count_if(list_contains($7, coins)),
    max(publication) FILTER (population = $1 AND list_contains($2, digest) AND level = $3 AND public = $4),
    min(publication) FILTER (lower(release) = lower($5) AND coins = $6 AND NOT shared)
FROM (
    SELECT number, publication, population, release, coins, digest, level, public,
        bool_or(lower(release) <> lower($5)) OVER (PARTITION BY publication) AS shared
    FROM priv.ledger
)

-- name: receipt
SELECT release IS NOT DISTINCT FROM ? AND published_at = max(published_at) OVER (), total, attribute, adds, reason
FROM priv.ledger(details := true) WHERE population = ?

-- name: earlier_columns
WITH entry AS (
    SELECT number, publication, release, attribute, mechanism, public,
        level IS NOT NULL
            AND published_at = max(published_at) FILTER (level IS NOT NULL) OVER (PARTITION BY publication) AS latest
    FROM priv.ledger WHERE population = $1
)
SELECT name, noisy, arg_max(release, number), bool_or(lower(release) = lower($2)), max(publication) FILTER (latest)
FROM (
    SELECT lower(attribute) AS name, true AS noisy, number, release, publication, latest FROM entry
    WHERE mechanism <> 'public' AND attribute <> '*'
    UNION ALL SELECT lower(unnest(public)), false, number, release, publication, latest FROM entry
) GROUP BY ALL

-- name: totals
SELECT total, delta_record, delta_person, epsilon_advanced FROM priv.ledger(slack := ?, details := true) WHERE population = ?

-- name: populations
SELECT population FROM priv.ledger UNION SELECT population FROM priv.noisy_count
UNION SELECT population FROM priv.withdrawn UNION SELECT population FROM priv.budget ORDER BY population

-- name: id_types
SELECT arg_max(id_types, number) FROM priv.ledger
WHERE population = ? AND list_transform(record_id, lambda x: lower(x)) = ?

-- name: id_columns
SELECT DISTINCT 'record', list_transform(record_id, lambda x: lower(x)), id_types FROM priv.ledger
WHERE population = $1 AND len(record_id) > 0
UNION SELECT DISTINCT 'person', list_transform(person, lambda x: lower(x)), list_transform(person, lambda x: 'VARCHAR')
FROM priv.ledger WHERE population = $1 AND len(person) > 0
ORDER BY ALL

-- name: is_known
-- Methods that group records together store no marks of people.
WITH entry AS (
    FROM priv.ledger WHERE population = $1
), draws AS (
    SELECT ('0x' || coins[:16])::UBIGINT FROM entry
)
SELECT EXISTS (
        FROM priv.mark WHERE CASE WHEN $3 = 'person' THEN person ELSE mark END = $2 AND draw IN (FROM draws))
    OR $3 = 'record' AND EXISTS (FROM priv.grouped_mark WHERE mark = $2 AND draw IN (FROM draws))
    OR EXISTS (FROM priv.seen WHERE mark = $2 AND publication IN (SELECT publication FROM entry))
    OR EXISTS (FROM entry WHERE level > 0)
    OR ($3 = 'person' AND EXISTS (FROM entry WHERE len(person) > 0 AND ('0x' || coins[:16])::UBIGINT NOT IN
        (SELECT draw FROM priv.mark WHERE person IS NOT NULL)))

-- name: keep_withdrawn
INSERT INTO priv.withdrawn SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (
    FROM priv.withdrawn WHERE population = $1 AND kind = $2 AND id_columns = $3 AND mark = $4)

-- name: keep_noisy_count
-- Equal counts have equal noise, so they are charged once.
INSERT INTO priv.noisy_count BY NAME
SELECT $population AS population, $epsilon AS epsilon, 1 AS calls, $time AS asked_at, $release AS release, $coins AS coins,
    $person_rows AS person_rows
WHERE NOT EXISTS (FROM priv.noisy_count WHERE population = $population AND coins = $coins)

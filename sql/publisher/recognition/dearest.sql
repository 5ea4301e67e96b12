-- What the dearest record of a population has cost: by what was drawn for it, where that is known, else by its sources.
-- What a publication promises of all values of a record together is charged once.
WITH entry AS (
    SELECT entry.*, list_contains(@of_all_values@, mechanism)
            AND row_number() OVER (PARTITION BY release, published_at, source_number, adds ORDER BY entry.number) > 1 AS charged
    FROM priv.ledger AS entry JOIN priv.source AS known ON known.number = source_number
    WHERE population = @population@
), draw AS (
    SELECT DISTINCT coins, mark, value FROM priv.drawn JOIN priv.source AS known ON known.number = source
    WHERE population = @population@
), keyed AS (
    SELECT coins, max(epsilon) AS epsilon FROM entry WHERE NOT fresh GROUP BY coins
), price AS (
    SELECT mark, epsilon FROM draw JOIN keyed USING (coins) UNION ALL
    SELECT mark, epsilon FROM entry JOIN priv.fingerprint AS of ON of.source = source_number AND kind = 'id'
    WHERE adds AND NOT charged AND coins NOT IN (SELECT coins FROM draw)
)
SELECT coalesce(max(epsilon), 0) FROM (SELECT sum(epsilon) AS epsilon FROM price GROUP BY mark)

-- What the dearest record of a population has cost: by what was drawn for it, where that is known, else by its sources.
WITH entry AS (
    SELECT entry.* FROM priv.ledger AS entry JOIN priv.source AS known ON known.number = source_number
    WHERE population = @population@
), draw AS (
    SELECT DISTINCT coins, mark, value FROM priv.drawn JOIN priv.source AS known ON known.number = source
    WHERE population = @population@
), keyed AS (
    SELECT coins, max(epsilon) AS epsilon FROM entry WHERE NOT fresh GROUP BY coins
), price AS (
    SELECT mark, epsilon FROM draw JOIN keyed USING (coins) UNION ALL
    SELECT mark, epsilon FROM entry JOIN priv.fingerprint AS of ON of.source = source_number AND kind = 'id'
    WHERE adds AND coins NOT IN (SELECT coins FROM draw)
)
SELECT coalesce(max(epsilon), 0) FROM (SELECT sum(epsilon) AS epsilon FROM price GROUP BY mark)

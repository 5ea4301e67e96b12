-- The published rows: groups under k records are left out, the others are repeated record by record. A group may have
-- been counted in several parts.
WITH grouped AS (
    SELECT * EXCLUDE (_priv_size), sum(_priv_size)::BIGINT AS _priv_size FROM @source@ GROUP BY ALL
    HAVING sum(_priv_size) >= @k@
), repeated AS (
    SELECT *, unnest(range(_priv_size)) FROM grouped
)
SELECT @published@, @scale@ AS scale FROM repeated

-- The published rows: a random sample, generalized; groups under k records are left out, the others are repeated
-- record by record. A value that has no leaf finds no partner, and its record is left out.
WITH drawn AS (
    SELECT @values@, _priv_bits(@stream@::UBIGINT, NULL::BIGINT, NULL::VARCHAR, 0::UINTEGER) AS _priv_bits
    FROM @source@
), sampled AS (
    SELECT * EXCLUDE (_priv_bits) FROM drawn WHERE _priv_bits < @threshold@::UBIGINT
), grouped AS (
    SELECT @shown@, count(*) AS _priv_size FROM sampled @levels@ GROUP BY ALL HAVING count(*) >= @k@
), repeated AS (
    SELECT *, unnest(range(_priv_size)) FROM grouped
)
SELECT @published@, @scale@ AS scale FROM repeated

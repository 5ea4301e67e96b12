-- How many records of a random sample become the same, generalized. A value that has no leaf finds no partner, and its
-- record is left out.
WITH drawn AS (
    SELECT @values@, _priv_bits(@stream@::UBIGINT, @id_number@, @id_text@, 0::UINTEGER) AS _priv_bits
    FROM @source@
), sampled AS (
    SELECT * EXCLUDE (_priv_bits) FROM drawn WHERE _priv_bits < @threshold@::UBIGINT
)
SELECT @shown@, count(*) AS _priv_size FROM sampled @levels@ GROUP BY ALL

-- How many records of a random sample have equal generalized values. The join drops a record with a value that has no leaf.
WITH drawn AS (
    SELECT @values@, _priv_bits(@stream@::UBIGINT, @id_number@, @id_text@, 0::UINTEGER) AS _priv_bits
    FROM @source@
), sampled AS (
    SELECT * EXCLUDE (_priv_bits) FROM drawn WHERE _priv_bits < @threshold@::UBIGINT
)
SELECT @shown@, count(*) AS _priv_size FROM sampled @levels@ GROUP BY ALL

-- A digest of a source: the sum of keyed bits of its records.
SELECT count(*) || '/' || bit_xor(bits) || '/' || sum(bits::HUGEINT)
FROM (SELECT _priv_bits(@stream@::UBIGINT, NULL::BIGINT, @record@, 0::UINTEGER) AS bits FROM @source@ AS s)

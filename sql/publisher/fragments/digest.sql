-- What all records of a source add up to, by keyed bits of what each of them holds.
SELECT count(*) || '/' || bit_xor(bits) || '/' || sum(bits::HUGEINT)
FROM (SELECT _priv_bits(@stream@::UBIGINT, NULL::BIGINT, @record@, 0::UINTEGER) AS bits FROM @source@ AS s)

-- The records of a source as they are known again: those whose hash begins with enough zero bits, by a keyed fingerprint of
-- the id, with the fingerprints of their values. An id is the same whether it is stored as a number or as a text.
CREATE OR REPLACE TEMP TABLE _priv_record AS
WITH record AS (
    SELECT @id@ AS id, [@values@]::VARCHAR[] AS shown FROM @source@ AS s
), chosen AS (
    SELECT id, shown, hash(id) AS selector FROM record WHERE hash(id) <= @limit@::UBIGINT
)
SELECT (64 - length(bin(selector)))::UTINYINT AS level, TRY_CAST(id AS HUGEINT) AS number,
    ('0x' || sha256(key || encode(id))[:16])::UBIGINT AS mark,
    [(hash(key, coalesce('=' || each, '')) & 4294967295::UBIGINT)::UINTEGER FOR each IN shown] AS shown
FROM chosen, (SELECT key FROM priv.identity)

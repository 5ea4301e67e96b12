-- The records of a source as they are known again: those whose hash begins with enough zero bits, by a keyed fingerprint of
-- the id, with the fingerprints of their values: of the sensitive ones, and of some records of the others. An id is the same
-- whether it is stored as a number or as a text.
INSERT INTO _priv_record
WITH record AS (
    SELECT *, @id@ AS _priv_id FROM @source@ AS s
), chosen AS (
    SELECT *, hash(_priv_id) AS _priv_selector FROM record WHERE hash(_priv_id) <= @limit@::UBIGINT
)
SELECT (64 - length(bin(_priv_selector)))::UTINYINT AS level, TRY_CAST(_priv_id AS HUGEINT) AS number,
    ('0x' || sha256(_priv_key || encode(_priv_id))[:16])::UBIGINT AS mark, [@shown@] AS shown,
    CASE WHEN _priv_selector <= @compared@::UBIGINT THEN [@others@] END AS others,
    (hash(_priv_key, @placed@) & 4294967295::UBIGINT)::UINTEGER AS placed, @person@ AS person
FROM chosen AS s, (SELECT key AS _priv_key FROM priv.identity)

-- The persons of a source as they are known again: by keyed fingerprints of their ids, made as those of records are, so that
-- persons of one table are found among the records of another that has one record of each.
INSERT INTO _priv_person
WITH person AS (
    SELECT DISTINCT @id@ AS id FROM @source@ AS s
), chosen AS (
    SELECT id, hash(id) AS selector FROM person WHERE hash(id) <= @limit@::UBIGINT
)
SELECT (64 - length(bin(selector)))::UTINYINT AS level, TRY_CAST(id AS HUGEINT) AS number,
    ('0x' || sha256(key || encode(id))[:16])::UBIGINT AS mark
FROM chosen, (SELECT key FROM priv.identity)

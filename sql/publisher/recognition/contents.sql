-- The records of a source that nobody else is like, by a keyed fingerprint of what they hold.
CREATE OR REPLACE TEMP TABLE _priv_content AS
WITH record AS (
    SELECT hash(@columns@) AS content FROM @source@ AS s
), alone AS (
    SELECT content FROM record WHERE content <= @limit@::UBIGINT GROUP BY content HAVING count(*) = 1
)
SELECT (64 - length(bin(content)))::UTINYINT AS level, ('0x' || sha256(key || content::VARCHAR::BLOB)[:16])::UBIGINT AS mark
FROM alone, (SELECT key FROM priv.identity)

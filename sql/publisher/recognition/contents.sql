-- What the records of a source hold, and how many hold the same, by keyed fingerprints.
INSERT INTO _priv_content
WITH record AS (
    SELECT hash(@columns@) AS content FROM @source@ AS s
), counted AS (
    SELECT content, count(*) AS records FROM record WHERE content <= @limit@::UBIGINT GROUP BY content
)
SELECT (64 - length(bin(content)))::UTINYINT AS level, ('0x' || sha256(key || encode(content || ' ' || records))[:16])::UBIGINT AS mark
FROM counted, (SELECT key FROM priv.identity)

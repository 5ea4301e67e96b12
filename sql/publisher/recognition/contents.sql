-- What the records of a source hold, and how many hold the same, by keyed fingerprints.
INSERT INTO _priv_content
WITH counted AS (
@counted@
)
SELECT (64 - length(bin(content)))::UTINYINT AS level, ('0x' || sha256(key || encode(content || ' ' || records))[:16])::UBIGINT AS mark
FROM counted, (SELECT key FROM priv.identity)

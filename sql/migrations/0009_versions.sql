-- Releases have versions. Of what was published before, the ledger says how often; what was said of it is not known. What was
-- drawn for which record is known where fingerprints of all records were kept.
CREATE TEMP TABLE _priv_release AS FROM priv.release;
DROP TABLE priv.release;
@release@
INSERT INTO priv.release BY NAME FROM _priv_release;
UPDATE priv.release SET version = greatest(1, (
    SELECT count(DISTINCT published_at) FROM priv.ledger WHERE lower(ledger.release) = lower(release.release)
));
DROP TABLE temp.main._priv_release;
@publication@
@drawn@
INSERT INTO priv.drawn (source, coins, mark, value)
SELECT DISTINCT known.number, entry.coins, kept.mark, kept.value
FROM priv.ledger AS entry JOIN priv.source AS known ON known.number = entry.source_number
JOIN priv.value_fingerprint AS kept ON kept.source = known.number AND kept.attribute = lower(entry.attribute)
WHERE NOT entry.fresh AND known.level = 0;

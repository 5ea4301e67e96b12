-- How many fingerprints each known source has at the level of the coarser of both.
SELECT source, kind, count(*) AS kept
FROM priv.fingerprint JOIN priv.source AS known ON known.number = source
WHERE fingerprint.level >= greatest(known.level, @level@) AND source IN (@sources@)
GROUP BY ALL

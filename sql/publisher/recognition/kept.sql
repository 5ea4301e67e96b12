-- How many fingerprints of what records hold each known source has, at the level of the coarser of both.
SELECT source, count(*) AS kept
FROM priv.fingerprint JOIN priv.source AS known ON known.number = source
WHERE kind = 'content' AND fingerprint.level >= greatest(known.level, @level@) AND source IN (@sources@)
GROUP BY source

-- How many of the fingerprints of each known source are among those of this one, at the level of the coarser of both.
WITH mine AS (
    SELECT 'id' AS kind, level, mark FROM _priv_record UNION ALL SELECT 'content', level, mark FROM _priv_content
)
SELECT known.number, any_value(known.population) AS population, any_value(known.records) AS records, theirs.kind,
    greatest(any_value(known.level), @level@) AS level, count(*) AS hits
FROM priv.fingerprint AS theirs JOIN mine USING (kind, mark) JOIN priv.source AS known ON known.number = theirs.source
WHERE theirs.level >= greatest(known.level, @level@)
GROUP BY known.number, theirs.kind ORDER BY known.number

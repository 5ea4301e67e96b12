-- How many of the fingerprints of each known source are among those of this one, at the level of the coarser of both. Persons
-- of one source may be the records of another.
WITH mine AS (
    SELECT 'id' AS kind, level, mark FROM _priv_record UNION ALL SELECT 'content', level, mark FROM _priv_content
    UNION ALL SELECT 'person', level, mark FROM _priv_person
), paired AS (
    SELECT theirs.source, theirs.level, CASE WHEN mine.kind = theirs.kind THEN mine.kind
        WHEN 'content' NOT IN (mine.kind, theirs.kind) THEN mine.kind || ' of ' || theirs.kind END AS kind
    FROM priv.fingerprint AS theirs JOIN mine USING (mark)
)
SELECT known.number, any_value(known.population) AS population, any_value(known.records) AS records, kind,
    greatest(any_value(known.level), @level@) AS level, count(*) AS hits
FROM paired JOIN priv.source AS known ON known.number = paired.source
WHERE paired.level >= greatest(known.level, @level@) AND kind IS NOT NULL
GROUP BY known.number, kind ORDER BY known.number

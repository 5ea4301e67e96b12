-- How many of this source's persons, or of its records where persons are not named, are among those of known sources.
WITH mine AS (
    SELECT level, mark FROM _priv_person UNION ALL
    SELECT level, mark FROM _priv_record WHERE NOT EXISTS (FROM _priv_person)
)
SELECT count(DISTINCT mark) AS seen
FROM mine SEMI JOIN (
    SELECT mark FROM priv.fingerprint WHERE kind IN ('id', 'person') AND source IN (@sources@)
) USING (mark) WHERE level >= @level@

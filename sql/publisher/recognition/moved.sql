-- How many records of this source are not among those of a known one, how many of those are gone, how many have another value in one
-- of the sensitive columns, and how many of the others have another one in a public column, NULL where that is not known; in a sample
-- where not all have fingerprints.
WITH known AS (
    SELECT mark FROM priv.fingerprint WHERE source = @known@ AND kind = 'id' AND level >= @level@
), valued AS (
    SELECT mark, attribute, value FROM priv.value_fingerprint SEMI JOIN known USING (mark)
    WHERE source = @known@ AND list_contains(@attributes@, attribute)
), theirs AS (
    SELECT DISTINCT mark FROM valued UNION SELECT mark FROM known WHERE len(@attributes@) = 0
), mine AS (
    SELECT mark, unnest(@attributes@) AS attribute, unnest(shown) AS value FROM _priv_record WHERE level >= @level@
), marks AS (
    SELECT mark, placed FROM _priv_record WHERE level >= @level@
), redrawn AS (
    SELECT DISTINCT mark FROM mine JOIN valued USING (mark, attribute) WHERE mine.value <> valued.value
), placements AS (
    SELECT mark, placed FROM priv.placement WHERE source = @known@
)
SELECT (SELECT count(*) FROM marks ANTI JOIN theirs USING (mark)) AS arrived,
    (SELECT count(*) FROM theirs ANTI JOIN marks USING (mark)) AS gone,
    (SELECT count(*) FROM redrawn) AS changed,
    CASE WHEN EXISTS (FROM placements) THEN (
        SELECT count(*) FROM (FROM marks ANTI JOIN redrawn USING (mark)) AS same JOIN placements USING (mark)
        WHERE same.placed <> placements.placed
    ) END AS placed

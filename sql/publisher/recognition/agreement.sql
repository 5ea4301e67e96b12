-- Of the records that a known source has under the same ids: how many have the same value in one of its columns and in one
-- of this source's, and how many would if the ids were shared by accident.
WITH mine AS (
    SELECT mark, unnest(range(len(shown)))::USMALLINT AS number, unnest(shown) AS value
    FROM (SELECT mark, list_concat(shown, others) AS shown FROM _priv_record WHERE others IS NOT NULL)
), paired AS (
    SELECT theirs.source, theirs.attribute, mine.number, theirs.value AS before, mine.value AS now
    FROM priv.value_fingerprint AS theirs JOIN mine USING (mark) WHERE theirs.source IN (@sources@)
), seen AS (
    SELECT source, attribute, number, count(*) AS records, count_if(before = now) AS agreeing FROM paired GROUP BY ALL
), earlier AS (
    SELECT source, attribute, number, before AS value, count(*) AS rows FROM paired GROUP BY ALL
), later AS (
    SELECT source, attribute, number, now AS value, count(*) AS rows FROM paired GROUP BY ALL
), chance AS (
    SELECT source, attribute, number, sum(earlier.rows * later.rows) AS products
    FROM earlier JOIN later USING (source, attribute, number, value) GROUP BY ALL
)
SELECT source, records, agreeing, coalesce(products, 0) / records AS expected
FROM seen LEFT JOIN chance USING (source, attribute, number) ORDER BY ALL

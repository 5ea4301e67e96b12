-- How many records have a value of some columns for themselves. Of columns with very many values only those whose hash
-- falls into one of several classes are looked at, with all of their records.
SELECT count(*) AS values_seen, coalesce(sum(size), 0)::BIGINT AS records_seen, count(*) FILTER (size = 1) AS alone,
    coalesce(max(size), 0) AS most
FROM (
    SELECT count(*) AS size FROM (SELECT hash(@columns@) AS key FROM @source@ WHERE @present@)
    WHERE @among@ GROUP BY key
)

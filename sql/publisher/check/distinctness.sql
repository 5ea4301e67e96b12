-- How many records are unique in some columns. If columns have very many values, only the values with a hash in one of several
-- classes are counted, with all their records.
SELECT count(*) AS values_seen, coalesce(sum(size), 0)::BIGINT AS records_seen, count(*) FILTER (size = 1) AS alone,
    coalesce(max(size), 0) AS most
FROM (
    SELECT count(*) AS size FROM (SELECT hash(@columns@) AS key FROM @source@ WHERE @present@)
    WHERE @among@ GROUP BY key
)

-- Records without a person; how many people there are, and how many records one of them has at most.
SELECT coalesce(sum(records) FILTER (@missing@), 0)::BIGINT AS missing, count(*) FILTER (NOT (@missing@)) AS persons,
    coalesce(max(records) FILTER (NOT (@missing@)), 0) AS most
FROM (SELECT @columns@, count(*) AS records FROM @source@ GROUP BY ALL)

-- Record ids: how many records lack one, and how many records there are more than ids.
SELECT count(*) FILTER (NOT (@present@)) AS missing,
    count(*) FILTER (@present@) - count(DISTINCT CASE WHEN @present@ THEN (@columns@) END) AS repeated
FROM @source@

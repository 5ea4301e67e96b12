-- The micro groups that have more than @sample_size@ records.
SELECT row_number() OVER () AS _priv_group, * FROM (
    SELECT @public@ count(*) AS _priv_size FROM @source@ GROUP BY ALL HAVING count(*) > @sample_size@
)

-- The micro groups that have more than @sample_size@ records, and how many records are taken of each.
SELECT row_number() OVER () AS _priv_group, * FROM (
    SELECT @public@ count(*) AS _priv_size, @sample_size@::BIGINT AS _priv_take
    FROM @source@ GROUP BY ALL HAVING count(*) > @sample_size@
)

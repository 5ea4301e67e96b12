-- The micro groups with more new records than free places in their samples, and the number of free places.
SELECT row_number() OVER () AS _priv_group, * FROM (
    SELECT @public@ count(*) AS _priv_size,
        greatest(@sample_size@ - coalesce(any_value(remaining.rows), 0), 0)::BIGINT AS _priv_take
    FROM @source@ LEFT JOIN (SELECT _priv_grouped, count(_priv_scale) AS rows FROM temp.main._priv_marked GROUP BY ALL) AS remaining
        USING (_priv_grouped)
    GROUP BY ALL
) WHERE _priv_size > _priv_take

-- The micro groups with more records than the threshold at their own largest frequency allows.
WITH cell AS (
    SELECT @public@ @sensitive@ AS _priv_value, count(*) AS _priv_rows FROM @source@ GROUP BY ALL
), grouped AS (
    SELECT * EXCLUDE (_priv_value, _priv_rows), sum(_priv_rows)::BIGINT AS _priv_size, max(_priv_rows) AS _priv_most
    FROM cell GROUP BY ALL
)
SELECT row_number() OVER () AS _priv_group, grouped.* EXCLUDE (_priv_most), t.threshold AS _priv_threshold
FROM grouped JOIN _priv_thresholds AS t ON t.size = _priv_size AND t.count = _priv_most
WHERE _priv_size > t.threshold

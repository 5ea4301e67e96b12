-- Unions of the micro groups that agree on all public attributes but one: size, count of the most frequent value, and
-- what the variance of its reconstructed count is made of (mechanism/sampling_variance.md).
WITH cell AS (
    SELECT @public@ @sensitive@ AS _priv_value, count(*) AS _priv_rows FROM @source@ GROUP BY ALL
), placed AS (
    SELECT *, greatest(sum(_priv_rows) OVER of_group / @sample_size@::DOUBLE, 1) AS _priv_scale,
        (row_number() OVER of_group = 1)::INTEGER AS _priv_first
    FROM cell WINDOW of_group AS (@group@)
), summed AS (
    SELECT @rest@ _priv_value, sum(_priv_rows) AS _priv_rows, sum(_priv_scale * _priv_rows) AS _priv_scaled,
        sum(_priv_scale ** 2 * (_priv_rows / _priv_scale - floor(_priv_rows / _priv_scale))
            * (1 - _priv_rows / _priv_scale + floor(_priv_rows / _priv_scale))) AS _priv_rounding,
        sum(_priv_first) AS _priv_groups
    FROM placed GROUP BY ALL
), united AS (
    SELECT sum(_priv_rows) OVER of_union AS _priv_size, sum(_priv_scaled) OVER of_union AS _priv_size_scaled,
        sum(_priv_groups) OVER of_union AS _priv_groups, _priv_rows, _priv_scaled, _priv_rounding,
        row_number() OVER (@union@ ORDER BY _priv_rows DESC) AS _priv_rank
    FROM summed WINDOW of_union AS (@union@)
)
SELECT _priv_size::DOUBLE, _priv_size_scaled, _priv_rows::DOUBLE, _priv_scaled, _priv_rounding
FROM united WHERE _priv_rank = 1 AND _priv_groups > 1

-- The query behind priv.reconstructed_distribution.
WITH @observed@, estimated AS (
    SELECT *, @moments@ AS _priv_moments FROM observed WINDOW of_group AS (PARTITION BY _priv_group)
), reconstructed AS (
    SELECT *, [@interval@ FOR _priv_m IN [_priv_moments]][1] AS _priv_interval FROM estimated
)
SELECT * EXCLUDE (_priv_group, _priv_total, _priv_position, _priv_value, @number_names@, _priv_observed, _priv_moments,
        _priv_interval),
    _priv_value AS value, _priv_interval.estimate AS estimate, _priv_interval.stderr AS stderr,
    _priv_interval.low AS low, _priv_interval.high AS high, _priv_observed::BIGINT AS observed
FROM reconstructed ORDER BY ALL

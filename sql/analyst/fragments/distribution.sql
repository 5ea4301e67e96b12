-- The query behind priv.reconstructed_distribution, and what priv.smoothed_count is made from, after WITH and the counts
-- (observed.sql).
summed AS (
    SELECT *, @query.window@ AS _priv_window, count(*) OVER () AS _priv_cells FROM observed WINDOW of_group AS (PARTITION BY _priv_group)
), estimated AS (
    SELECT *, @moments@ AS _priv_moments FROM summed
), reconstructed AS (
    SELECT *, @interval@ AS _priv_interval FROM estimated
)
SELECT * EXCLUDE (_priv_group, _priv_total, _priv_sums, _priv_position, _priv_numbers, _priv_observed, _priv_cell,
        _priv_window, _priv_cells, {unseen} _priv_interval),
    _priv_value AS value, _priv_interval.estimate AS estimate, _priv_interval.low AS low,
    _priv_interval.high AS high, _priv_interval.stderr AS stderr{counted} {ranks}
FROM reconstructed ORDER BY ALL

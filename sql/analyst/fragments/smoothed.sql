-- The query behind priv.smoothed_count, over that of the distribution: what a cell would hold if the value were as frequent
-- in it as everywhere; how much cells differ by more than their noise, in two passes; and how far each estimate is drawn.
-- Derivation: mechanism/smoothing.md.
WITH every AS (
{every}
), cell AS (
    SELECT *, _priv_moments.total AS _priv_total, _priv_moments.total * least(greatest(coalesce(
            sum(_priv_moments.estimate) OVER () / nullif(sum(_priv_moments.total) OVER (), 0), 0), 0), 1) AS _priv_usual
    FROM every WHERE CAST(_priv_value AS VARCHAR) IS NOT DISTINCT FROM {value}
), noisy AS (
    SELECT *, greatest(_priv_moments.variance + _priv_moments.slope * (_priv_usual - _priv_moments.estimate), 1e-12) AS _priv_noise,
        sqrt(greatest(_priv_moments.variance + _priv_moments.slope * (
            least(greatest(_priv_moments.estimate, 0), _priv_total) - _priv_moments.estimate), 1e-12)) AS _priv_error
    FROM cell WHERE _priv_chosen AND _priv_total > 0
), first_pass AS (
    SELECT *, greatest(sum((_priv_total / _priv_noise) ** 2 * ((_priv_moments.estimate - _priv_usual) ** 2 - _priv_noise)) OVER ()
        / sum((_priv_total ** 2 / _priv_noise) ** 2) OVER (), 0) AS _priv_first
    FROM noisy
), second_pass AS (
    SELECT *, greatest(sum((_priv_total / (_priv_noise + _priv_first * _priv_total ** 2)) ** 2
            * ((_priv_moments.estimate - _priv_usual) ** 2 - _priv_noise)) OVER ()
        / sum((_priv_total ** 2 / (_priv_noise + _priv_first * _priv_total ** 2)) ** 2) OVER (), 0) AS _priv_between
    FROM first_pass
), limited AS (
    SELECT *, _priv_noise / (_priv_noise + _priv_between * _priv_total ** 2) * (_priv_usual - _priv_moments.estimate) AS _priv_drawn,
        1.96e0 * _priv_error * least(1, 2.5e0 * _priv_error / greatest(_priv_moments.estimate, 1e-12)) ** 4 AS _priv_most
    FROM second_pass
)
SELECT * EXCLUDE (_priv_value, _priv_chosen, _priv_moments, _priv_total, _priv_usual, _priv_noise, _priv_error, _priv_first,
        _priv_between, _priv_drawn, _priv_most),
    least(greatest(_priv_moments.estimate + least(greatest(_priv_drawn, - _priv_most), _priv_most), 0), _priv_total) AS smoothed
FROM limited ORDER BY ALL

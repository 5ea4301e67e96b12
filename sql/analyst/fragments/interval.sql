-- Score interval with continuity correction (Wilson 1927, for a variance that is linear in the true count):
-- the roots of (estimate -+ half_step - k)^2 = z^2 * (variance if the true count were k). Where there is no
-- variance, the count lies within half_step of the middle for certain, and there is no estimate.
-- A variance that falls with the count (a negative slope) is not followed below 0.
-- Rows of several weights may have an excess of variance, and a slack of the standard error upwards. Records of
-- a sample are certain to be there.
{
    estimate: CASE WHEN _priv_m.variance IS NOT NULL THEN _priv_m.estimate END,
    stderr: CASE WHEN _priv_m.variance IS NOT NULL THEN sqrt(greatest(_priv_m.variance, 0)) END,
    low: CASE WHEN _priv_m.estimate <= _priv_m.half_step THEN 0 ELSE least(greatest(
            _priv_m.estimate - _priv_m.half_step + _priv_m.z * _priv_m.z * _priv_m.slope / 2
            - _priv_m.z * sqrt(greatest(
                _priv_m.variance + _priv_m.excess - _priv_m.slope * _priv_m.half_step, 0)
                + (_priv_m.z * _priv_m.slope) ** 2 / 4),
            _priv_m.certain), _priv_m.total) END,
    high: CASE WHEN _priv_m.estimate + _priv_m.half_step + _priv_m.z * _priv_m.slack >= _priv_m.total THEN _priv_m.total ELSE least(greatest(
            _priv_m.estimate + _priv_m.half_step + _priv_m.z * _priv_m.slack + _priv_m.z * _priv_m.z * _priv_m.slope / 2
            + _priv_m.z * sqrt(greatest(
                _priv_m.variance + _priv_m.excess + _priv_m.slope * (_priv_m.half_step + _priv_m.z * _priv_m.slack), 0)
                + (_priv_m.z * _priv_m.slope) ** 2 / 4),
            0), _priv_m.total) END
}

-- What an interval is made of, for one value in one group.
{estimate: _priv_observed / _priv_own, variance: _priv_observed * (1 - _priv_own) / _priv_own ** 2,
 slope: (1 - _priv_own) / _priv_own, half_step: 0.5e0 / _priv_own, total: 'inf'::DOUBLE, z: @normal_quantile@}

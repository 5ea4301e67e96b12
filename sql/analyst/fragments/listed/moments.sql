-- What an interval is made of, for one value in one group.
{estimate: _priv_observed, variance: _priv_observed - _priv_squared, slope: 0e0, half_step: 0.5e0,
 excess: 0e0, slack: 0e0, total: _priv_holders::DOUBLE, z: @normal_quantile@}

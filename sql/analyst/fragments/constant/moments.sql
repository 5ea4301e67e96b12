-- What an interval is made of, for one value in one group.
{estimate: _priv_own * _priv_total,
 variance: _priv_own * (1 - _priv_own) * _priv_total * greatest(@rows@ - _priv_total, 0) / greatest(@rows@ - 1, 1),
 slope: 0e0, half_step: 0.5e0, total: _priv_total::DOUBLE, z: @normal_quantile@}

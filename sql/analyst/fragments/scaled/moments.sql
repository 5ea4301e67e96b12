-- What an interval is made of, for one value in one group.
[{estimate: u.estimate, variance: u.variance, slope: u.spread * u.typical, half_step: u.largest / (2 * u.gap),
  excess: u.spread * greatest(u.typical * u.estimate - u.doubled, 0), slack: u.spread * (u.largest - u.typical),
  total: u.total, z: @normal_quantile@}
 FOR u IN [{
    estimate: (_priv_observed - _priv_other * _priv_total) / (_priv_own - _priv_other),
    doubled: (_priv_squared - _priv_other * _priv_sums.squared) / (_priv_own - _priv_other),
    variance: ((1 - _priv_own) * (1 - _priv_other) * _priv_squared
        + _priv_own * _priv_other * (_priv_sums.squared - _priv_squared)) / (_priv_own - _priv_other) ** 2
        + _priv_sums.sampled / (4 * @sample_size@),
    spread: (1 - _priv_own - _priv_other) / (_priv_own - _priv_other), gap: _priv_own - _priv_other,
    typical: CASE WHEN _priv_total > 0 THEN _priv_sums.squared / _priv_total ELSE 1 END,
    largest: _priv_sums.largest, total: round(_priv_total, 6)
 }]][1]

-- What an interval is made of, for one value in one group.
[{estimate: u.estimate, variance: u.variance, slope: u.spread * u.typical, half_step: u.largest / (2 * u.gap),
  excess: u.spread * greatest(u.typical * u.estimate - u.inflated, 0), slack: u.spread * (u.largest - u.typical),
  total: _priv_total + _priv_sums.sampled, z: @normal_quantile@}
 FOR u IN [{
    estimate: (_priv_observed - _priv_other * _priv_total) / (_priv_own - _priv_other),
    inflated: (_priv_squared.inflated - _priv_other * _priv_sums.inflated) / (_priv_own - _priv_other),
    variance: ((1 - _priv_own) * (1 - _priv_other) * _priv_squared.inflated
        + _priv_own * _priv_other * (_priv_sums.inflated - _priv_squared.inflated)) / (_priv_own - _priv_other) ** 2
        + greatest(_priv_squared.parted - _priv_other * _priv_sums.parted, 0) / (4 * (_priv_own - _priv_other))
        + _priv_sums.copied / (4 * @sample_size@),
    spread: (1 - _priv_own - _priv_other) / (_priv_own - _priv_other), gap: _priv_own - _priv_other,
    typical: CASE WHEN _priv_total > 0 THEN _priv_sums.inflated / _priv_total ELSE 1 END, largest: _priv_sums.largest
 }]][1]

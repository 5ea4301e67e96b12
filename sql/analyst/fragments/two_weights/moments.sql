-- What an interval is made of, for one value in one group.
{estimate: (_priv_observed - _priv_other * _priv_total) / (_priv_own - _priv_other),
 variance: (_priv_observed * (1 - _priv_other) ** 2 + (_priv_total - _priv_observed) * _priv_other ** 2)
    / (_priv_own - _priv_other) ** 2
    - (_priv_observed - _priv_other * _priv_total) / (_priv_own - _priv_other),
 slope: (_priv_own * (1 - _priv_own) - _priv_other * (1 - _priv_other)) / (_priv_own - _priv_other) ** 2,
 half_step: 0.5e0 / (_priv_own - _priv_other), total: _priv_total::DOUBLE, z: @normal_quantile@}

-- What an interval is made of, for one value in one group; without a variance, only its ends are known.
[CASE WHEN s.own - s.other > 1e-12 THEN
{estimate: (s.shown - s.other * s.total) / (s.own - s.other),
 variance: @kept_variance@ * ((s.shown * (1 - s.other) ** 2 + (s.total - s.shown) * s.other ** 2) / (s.own - s.other) ** 2
    - (s.shown - s.other * s.total) / (s.own - s.other)),
 slope: @kept_slope@ * (s.own * (1 - s.own) - s.other * (1 - s.other)) / (s.own - s.other) ** 2,
 half_step: 0.5e0 / (s.own - s.other), total: s.total::DOUBLE, z: @normal_quantile@}
ELSE
{estimate: (greatest(s.total + s.rows * s.own - s.rows, 0) + least(s.total, s.rows * s.own)) / 2,
 variance: NULL::DOUBLE, slope: 0e0,
 half_step: (least(s.total, s.rows * s.own) - greatest(s.total + s.rows * s.own - s.rows, 0)) / 2,
 total: s.total::DOUBLE, z: 0e0}
END FOR s IN [{own: _priv_own, other: _priv_other, shown: _priv_observed, total: _priv_total, rows: @rows@, k: 1 - _priv_own + _priv_other}]][1]

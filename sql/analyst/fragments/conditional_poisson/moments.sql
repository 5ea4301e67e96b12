-- What an interval is made of, for one value in one group.
[[{estimate: list_sum([e.w * e.o FOR e IN seen]), variance: @kept_variance@ * list_sum([(e.w * e.w - e.w) * e.o FOR e IN seen]),
   slope: @kept_slope@ * _priv_slope, half_step: _priv_half_step, total: _priv_total::DOUBLE, z: @normal_quantile@}
  FOR s IN [{total: _priv_total, rows: @rows@, k: 1 - _priv_own + _priv_other}]][1]
 FOR seen IN [[{o: v.o, w: CASE WHEN v.p = _priv_position THEN _priv_own_weight
        WHEN v.w = _priv_odds THEN _priv_tied_weight
        ELSE _priv_inclusion * (_priv_potential - v.a) / (v.w - _priv_odds) END}
    FOR v IN list({o: _priv_observed, w: _priv_odds, a: _priv_potential, p: _priv_position}) OVER of_group]]][1]

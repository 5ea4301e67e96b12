-- What an interval is made of, for one value in one group.
{estimate: list_dot_product(_priv_weights, list(_priv_observed ORDER BY _priv_position) OVER of_group),
 variance: list_dot_product([w * w - w FOR w IN _priv_weights], list(_priv_observed ORDER BY _priv_position) OVER of_group),
 slope: _priv_slope, half_step: _priv_half_step, total: _priv_total::DOUBLE, z: @normal_quantile@}

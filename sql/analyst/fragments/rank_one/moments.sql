-- What an interval is made of, for one value in one group: sums over the group serve all its values. A value
-- without retention, if it is the only one, is what the others leave.
{estimate: CASE WHEN _priv_retention > 0
    THEN (_priv_observed - sum(_priv_observed * _priv_background) OVER of_group) / _priv_retention
    ELSE sum(_priv_observed * (1 - 1 / nullif(_priv_retention, 0))) OVER of_group
        + _priv_observed * (1 + sum(1 / nullif(_priv_retention, 0)) OVER of_group) END,
 variance: CASE WHEN _priv_retention > 0
    THEN (sum(_priv_observed * _priv_background ** 2) OVER of_group
            + _priv_observed * (1 - 2 * _priv_background)) / _priv_retention ** 2
        - (_priv_observed - sum(_priv_observed * _priv_background) OVER of_group) / _priv_retention
    ELSE sum(_priv_observed * (1 / nullif(_priv_retention, 0) - 1) / nullif(_priv_retention, 0)) OVER of_group
        + _priv_observed * (1 + sum(1 / nullif(_priv_retention, 0)) OVER of_group)
            * sum(1 / nullif(_priv_retention, 0)) OVER of_group END,
 slope: _priv_slope, half_step: _priv_half_step, total: _priv_total::DOUBLE, z: @normal_quantile@}

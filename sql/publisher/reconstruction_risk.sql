-- FROM priv.reconstruction_risk(source, sensitive := …, retention := …, epsilon := …, delta := …
--   [, bound := 'simplified'] [, record_id := …] [, exclude := […]] [, domain_size := …])
--   -> groups, violating_groups, violating_records, single_records, smallest_tail
--
-- The risks that remain with uniform perturbation: how many micro groups there are, how many of them, and of the records,
-- violate the bound (in percent), how many records are unique in their group (in percent: only perturbation can protect
-- these), and the smallest exact tail of a most frequent value. FROM priv.micro_groups shows the groups.
--
--   FROM priv.reconstruction_risk('visits', sensitive := 'disease', retention := 0.3, epsilon := 0.3, delta := 0.05,
--                                 record_id := 'id');

CREATE OR REPLACE MACRO priv.reconstruction_risk(
    source, sensitive := NULL, retention := NULL, epsilon := NULL, delta := NULL, bound := 'simplified',
    record_id := NULL, exclude := NULL, domain_size := NULL
) AS TABLE FROM query(
    @perturbed@ || '
SELECT count(*) AS groups, 100e0 * count_if(_priv_size > _priv_risk.threshold) / count(*) AS violating_groups,
    100e0 * coalesce(sum(_priv_size) FILTER (_priv_size > _priv_risk.threshold), 0) / sum(_priv_size) AS violating_records,
    100e0 * count_if(_priv_size = 1) / sum(_priv_size) AS single_records,
    min(least(_priv_risk.too_high, _priv_risk.too_low)) AS smallest_tail
FROM joined');

COMMENT ON MACRO TABLE priv.reconstruction_risk IS
    'How many micro groups and records uniform perturbation would leave open to reconstruction, in percent.';

-- FROM priv.micro_groups(source, sensitive := …, retention := …, epsilon := …, delta := …
--   [, bound := 'simplified' | 'chernoff' | 'exact'] [, record_id := …] [, exclude := […]] [, domain_size := …])
--   -> the public columns, size, max_frequency, threshold, violates, upper_tail, lower_tail
--
-- One row per micro group (an equivalence class: records that agree on all public columns), as uniform perturbation would
-- publish it. It shows the share of the most frequent value, how many records the bound allows at that share, and the
-- probabilities that this share is reconstructed too high, and too low, by more than the factor epsilon. Reads true values:
-- it is for the publisher. Without domain_size the domain is what occurs.
--
--   FROM priv.micro_groups('visits', sensitive := 'disease', retention := 0.3, epsilon := 0.3, delta := 0.05,
--                          record_id := 'id') ORDER BY upper_tail + lower_tail LIMIT 5;

CREATE OR REPLACE MACRO priv.micro_groups(
    source, sensitive := NULL, retention := NULL, epsilon := NULL, delta := NULL, bound := 'simplified',
    record_id := NULL, exclude := NULL, domain_size := NULL
) AS TABLE FROM query(
    @perturbed@ || '
SELECT * EXCLUDE (_priv_key, _priv_size, _priv_most, _priv_risk), _priv_size AS size,
    _priv_most / _priv_size::DOUBLE AS max_frequency, _priv_risk.threshold AS threshold, _priv_size > _priv_risk.threshold AS violates,
    _priv_risk.too_high AS upper_tail, _priv_risk.too_low AS lower_tail
FROM joined');

COMMENT ON MACRO TABLE priv.micro_groups IS
    'One row per micro group of a source: size, largest frequency, threshold of reconstruction privacy, exact tails.';

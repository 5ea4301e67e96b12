-- FROM priv.ratio_attack(source, sensitive := …, epsilon_dp := … [, epsilon := 0.3] [, delta := 0.05]
--   [, top := 10] [, min_size := 100] [, record_id := …] [, exclude := […]])
--   -> the public columns, size, count, frequency, within, upper_tail, lower_tail, private
--
-- What two differentially private counts reveal about a micro group: how many records it has, and how many of them have its
-- most frequent value, each with discrete Laplace noise of scale 1 / epsilon_dp. within is how often their ratio is the true
-- share to within the factor epsilon, from exact probabilities; private says whether both tails are at least delta. There is
-- one row for each of the groups with the most frequent values, among those of at least min_size records.
--
--   FROM priv.ratio_attack('visits', sensitive := 'disease', epsilon_dp := 0.1, record_id := 'id');

CREATE OR REPLACE MACRO priv.ratio_attack(
    source, sensitive := NULL, epsilon_dp := NULL, epsilon := 0.3, delta := 0.05, top := 10, min_size := 100,
    record_id := NULL, exclude := NULL
) AS TABLE FROM query(
    @groups@ || ', chosen AS MATERIALIZED (
    FROM grouped WHERE _priv_size >= ' || coalesce(TRY_CAST(min_size AS BIGINT)::VARCHAR, error('min_size must be a whole number, got ' || left(coalesce(min_size::VARCHAR, 'NULL'), 100)
        || chr(10) || 'Hint: write min_size := 100'))
    || ' ORDER BY _priv_most / _priv_size::DOUBLE DESC, _priv_size DESC LIMIT ' || coalesce(TRY_CAST(top AS BIGINT)::VARCHAR, error('top must be a whole number, got ' || left(coalesce(top::VARCHAR, 'NULL'), 100)
        || chr(10) || 'Hint: write top := 10')) || '
), asked AS MATERIALIZED (
    SELECT _priv_counted_groups(list({size: _priv_size, count: _priv_most}), '
    || coalesce(TRY_CAST(epsilon_dp AS DOUBLE)::VARCHAR, 'NULL') || '::DOUBLE, ' || coalesce(TRY_CAST(epsilon AS DOUBLE)::VARCHAR, 'NULL')
    || '::DOUBLE) AS answer
    FROM (SELECT DISTINCT _priv_size, _priv_most FROM chosen)
), @risks@
SELECT * EXCLUDE (_priv_key, _priv_size, _priv_most, _priv_risk), _priv_size AS size, _priv_most AS count,
    _priv_most / _priv_size::DOUBLE AS frequency, 1 - _priv_risk.too_high - _priv_risk.too_low AS within,
    _priv_risk.too_high AS upper_tail, _priv_risk.too_low AS lower_tail,
    least(_priv_risk.too_high, _priv_risk.too_low) >= ' || coalesce(TRY_CAST(delta AS DOUBLE)::VARCHAR, error('delta must be a number, got ' || left(coalesce(delta::VARCHAR, 'NULL'), 100)
        || chr(10) || 'Hint: write delta := 0.05')) || ' AS private
FROM joined ORDER BY frequency DESC, size DESC');

COMMENT ON MACRO TABLE priv.ratio_attack IS
    'How well two differentially private counts reconstruct the largest frequency of the most skewed micro groups.';

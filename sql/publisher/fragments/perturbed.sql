-- The text of a query: the micro groups of a source, and how well they are reconstructed when perturbed whole.
@groups@ || ', chosen AS (
    FROM grouped
), asked AS MATERIALIZED (
    SELECT _priv_perturbed_groups(list({size: _priv_size, count: _priv_most}), '
    || coalesce(domain_size::BIGINT::VARCHAR, '(SELECT count(*) FROM (SELECT DISTINCT _priv_value FROM cell))')
    || '::BIGINT, ' || coalesce(retention::DOUBLE::VARCHAR, 'NULL') || '::DOUBLE, '
    || coalesce(epsilon::DOUBLE::VARCHAR, 'NULL') || '::DOUBLE, ' || coalesce(delta::DOUBLE::VARCHAR, 'NULL')
    || '::DOUBLE, ''' || replace(coalesce(bound, 'NULL'), '''', '''''') || ''') AS answer
    FROM (SELECT DISTINCT _priv_size, _priv_most FROM chosen)
), @risks@'

-- The text of a query: the micro groups of a source, and how well they are reconstructed when perturbed whole.
@groups@ || ', chosen AS (
    FROM grouped
), asked AS MATERIALIZED (
    SELECT _priv_perturbed_groups(list({size: _priv_size, count: _priv_most}), '
    || coalesce(TRY_CAST(domain_size AS BIGINT)::VARCHAR, '(SELECT count(*) FROM (SELECT _priv_value_key FROM cell GROUP BY ALL))')
    || '::BIGINT, ' || coalesce(TRY_CAST(retention AS DOUBLE)::VARCHAR, 'NULL') || '::DOUBLE, '
    || coalesce(TRY_CAST(epsilon AS DOUBLE)::VARCHAR, 'NULL') || '::DOUBLE, ' || coalesce(TRY_CAST(delta AS DOUBLE)::VARCHAR, 'NULL')
    || '::DOUBLE, ''' || replace(left(coalesce(bound::VARCHAR, 'NULL'), 100), '''', '''''') || ''') AS answer
    FROM (SELECT DISTINCT _priv_size, _priv_most FROM chosen)
), @risks@'

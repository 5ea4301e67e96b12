-- The records to perturb: a sample of each large group, and all records of the other groups.
SELECT @sampled_public@ @sampled_id@ AS _priv_id, d.value AS @sensitive_name@, _priv_size / _priv_take::DOUBLE AS scale
FROM (SELECT *, unnest(range(1, _priv_taken + 1)) AS _priv_number FROM @sample@) AS t
JOIN @large@ AS g USING (_priv_group, _priv_size) JOIN @domain@ AS d ON d.position = _priv_code
UNION ALL
SELECT @named_public@ @id@ AS _priv_id, @sensitive@ AS @sensitive_name@, 1e0 AS scale
FROM @source@ ANTI JOIN @large@ AS g ON @same_group@

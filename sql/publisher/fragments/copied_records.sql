-- The records to perturb, with how often each is to appear: a coin decides between the whole numbers around size / taken.
SELECT @sampled_public@ _priv_id, d.value AS @sensitive_name@,
    floor(_priv_copies)::BIGINT + (_priv_coin::DOUBLE / 18446744073709551616 < _priv_copies - floor(_priv_copies))::INTEGER
        AS scale
FROM (
    SELECT *, _priv_bits(@start@::UBIGINT, @drawn_number@, @drawn_text@, _priv_code) AS _priv_coin
    FROM (SELECT t.*, @sampled_id@ AS _priv_id FROM (SELECT *, unnest(range(1, _priv_taken + 1)) AS _priv_number FROM @sample@) AS t)
) AS t
JOIN @large@ AS g USING (_priv_group, _priv_size) JOIN @domain@ AS d ON d.position = _priv_code
UNION ALL
SELECT @named_public@ @id@ AS _priv_id, @sensitive@ AS @sensitive_name@, 1 AS scale
FROM @source@ ANTI JOIN @large@ AS g ON @same_group@

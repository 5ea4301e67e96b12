-- How many records of each value represent a violating group: its share of the threshold, rounded by a coin.
WITH shared AS (
    SELECT v.*, g._priv_size, _priv_rows * g._priv_threshold / g._priv_size AS _priv_share,
        _priv_bits(@order@::UBIGINT, _priv_numbers[1], _priv_texts[1], _priv_code) AS _priv_coin
    FROM @values@ AS v JOIN @large@ AS g USING (_priv_group)
)
SELECT _priv_group, _priv_code, _priv_size, _priv_numbers, _priv_texts,
    floor(_priv_share)::BIGINT + (_priv_coin::DOUBLE / 18446744073709551616 < _priv_share - floor(_priv_share))::INTEGER
        AS _priv_taken,
    _priv_size / sum(_priv_taken) OVER (PARTITION BY _priv_group) AS _priv_copies
FROM shared

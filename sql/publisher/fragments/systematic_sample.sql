-- How many records of each value represent a large group: the values are in a random order, one behind the other,
-- and every (size / taken)-th record is taken from a random start. In whole numbers, so that as many are taken exactly.
WITH turned AS (
    SELECT *, _priv_bits(@order@::UBIGINT, _priv_numbers[1], _priv_texts[1], _priv_code) AS _priv_turn FROM @values@
), firsts AS (
    SELECT _priv_group, min(_priv_numbers[1]) AS _priv_number, min(_priv_texts[1]) AS _priv_text FROM @values@ GROUP BY ALL
), started AS (
    SELECT _priv_group, _priv_size, _priv_take,
        (_priv_bits(@start@::UBIGINT, _priv_number, _priv_text, 0::UINTEGER) % _priv_size::UBIGINT)::BIGINT AS _priv_start
    FROM firsts JOIN @large@ USING (_priv_group)
), placed AS (
    SELECT turned.*, _priv_size, _priv_take, _priv_start,
        (sum(_priv_rows) OVER (PARTITION BY _priv_group ORDER BY _priv_turn, _priv_code))::BIGINT AS _priv_upto
    FROM turned JOIN started USING (_priv_group)
)
SELECT _priv_group, _priv_code, _priv_size, _priv_numbers, _priv_texts,
    (_priv_upto * _priv_take + _priv_size - 1 - _priv_start) // _priv_size
    - ((_priv_upto - _priv_rows) * _priv_take + _priv_size - 1 - _priv_start) // _priv_size AS _priv_taken
FROM placed

-- How many records of each large group have each value, and the first ids among them, in keyed order.
SELECT _priv_group, _priv_code, @rows@ AS _priv_rows,
    @first_numbers@ AS _priv_numbers, @first_texts@ AS _priv_texts
FROM @ordered@ GROUP BY ALL

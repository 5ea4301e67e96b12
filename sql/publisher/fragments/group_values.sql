-- How many records of each large group have each value, and the first ids among them, in keyed order.
SELECT _priv_group, _priv_code, count(*) AS _priv_rows,
    @first_numbers@ AS _priv_numbers, @first_texts@ AS _priv_texts
FROM (
    SELECT *, @drawn@(@within@::UBIGINT, @ids@, _priv_code) AS _priv_order FROM (
        SELECT _priv_group, d.position AS _priv_code, @id_number@ AS _priv_number, @id_text@ AS _priv_text
        FROM @source@ JOIN @domain@ AS d ON d.value IS NOT DISTINCT FROM @sensitive@ JOIN @large@ AS g ON @same_group@
    )
)
GROUP BY ALL

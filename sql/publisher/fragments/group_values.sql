-- How many records of each large group have each value, and the first ids among them, in order.
SELECT _priv_group, d.position AS _priv_code, count(*) AS _priv_rows,
    min(@id_number@, @sample_size@) AS _priv_numbers, min(@id_text@, @sample_size@) AS _priv_texts
FROM @source@ JOIN @domain@ AS d ON d.value IS NOT DISTINCT FROM @sensitive@ JOIN @large@ AS g ON @same_group@
GROUP BY ALL

-- The records of large groups: the place of their value, and their id.
SELECT _priv_group, d.position AS _priv_code, @id_number@ AS _number, @id_text@ AS _text
FROM @source@ JOIN @domain@ AS d ON d.value IS NOT DISTINCT FROM @sensitive@ JOIN @large@ AS g ON @same_group@

-- Groups of records that had one value of a known attribute, and the values of a column of this source in them.
    SELECT 0 AS given, 0 AS told, @key@ AS key, @value@ AS value, count(*) AS rows
    FROM (
        SELECT theirs.value AS before, mine.shown[@number@] AS now
        FROM priv.value_fingerprint AS theirs JOIN _priv_record AS mine USING (mark)
        WHERE theirs.source = @known@ AND theirs.attribute = @attribute@
    ) GROUP BY ALL

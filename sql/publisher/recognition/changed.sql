-- How many records have another value than when a known source was published.
SELECT count(*) AS changed
FROM priv.value_fingerprint AS theirs JOIN _priv_record AS mine USING (mark)
WHERE theirs.source = @known@ AND theirs.attribute = @attribute@ AND theirs.value <> mine.shown[@number@]

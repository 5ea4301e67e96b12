-- How many of this source's records are among those of known sources.
SELECT count(DISTINCT mark) AS seen
FROM _priv_record SEMI JOIN (
    SELECT mark FROM priv.fingerprint WHERE kind = 'id' AND source IN (@sources@)
) USING (mark) WHERE level >= @level@

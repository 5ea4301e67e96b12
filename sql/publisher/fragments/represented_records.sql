-- The new records that are represented from now on, with the number of records that their rows represent. Groups without a free place
-- have none.
SELECT s._priv_grouped, s._priv_mark, rows.scale
FROM @source@ ANTI JOIN (FROM @large@ WHERE _priv_take = 0) AS g ON @same_group@
LEFT JOIN temp.main._priv_sampled AS rows USING (_priv_id)

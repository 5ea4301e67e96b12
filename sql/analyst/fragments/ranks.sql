-- The columns of ranks in a distribution. Intervals that hold at once bound the rank of every value (Klein, Wright and Wieczorek
-- 2020): a value comes after all values whose interval lies above its own, and before all whose interval lies below. A
-- value without an interval may have any rank.
, 1 + (SELECT count(*) FROM reconstructed AS _priv_other WHERE _priv_other._priv_group = reconstructed._priv_group
    AND _priv_other._priv_interval.low > reconstructed._priv_interval.high) AS best_rank,
  (SELECT count(*) FILTER ((_priv_other._priv_interval.high < reconstructed._priv_interval.low) IS NOT TRUE)
    FROM reconstructed AS _priv_other WHERE _priv_other._priv_group = reconstructed._priv_group) AS worst_rank

-- The share of the times of each column that are not midnight.
SELECT @shares@ FROM @sample@

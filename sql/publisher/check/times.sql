-- For each column, the share of times that are not midnight.
SELECT @shares@ FROM @sample@

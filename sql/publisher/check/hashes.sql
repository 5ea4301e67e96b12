-- The values of a sample as numbers.
SELECT @hashes@ FROM @sample@

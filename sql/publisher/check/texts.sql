-- A few values of every text column in long form, and what equals another value without being the same bytes.
CREATE OR REPLACE TEMP TABLE _priv_text AS
WITH sampled AS (SELECT [@texts@] AS texts, [@numbers@] AS numbers FROM @source@ @sampling@)
SELECT unnest(numbers)::USMALLINT AS number, unnest(texts) AS text FROM sampled

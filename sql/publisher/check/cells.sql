-- A sample of the source in long form: a row for each record and column, with the hash of the value.
CREATE OR REPLACE TEMP TABLE _priv_cell AS
WITH sampled AS (
    SELECT row_number() OVER () AS record, [@hashes@] AS hashes FROM @source@ @sampling@
)
SELECT record, unnest(range(len(hashes)))::USMALLINT AS number, unnest(hashes) AS value FROM sampled

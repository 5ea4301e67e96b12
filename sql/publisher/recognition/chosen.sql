-- The records whose id hashes to at most a limit, with that hash.
CREATE OR REPLACE TEMP TABLE _priv_chosen AS
SELECT @columns@, hash(@id@) AS _priv_hash FROM @source@ AS s WHERE hash(@id@) <= @limit@::UBIGINT

-- The records whose id hashes to at most a limit.
CREATE OR REPLACE TEMP TABLE _priv_chosen AS
SELECT @columns@ FROM @source@ AS s WHERE hash(@id@) <= @limit@::UBIGINT

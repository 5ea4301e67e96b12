-- The records that represent their groups from the version before on.
SELECT @named_public@ @id@ AS _priv_id, @sensitive@ AS @sensitive_name@, s._priv_scale AS scale
FROM temp.main._priv_marked AS s WHERE s._priv_scale IS NOT NULL

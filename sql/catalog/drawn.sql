-- priv.drawn: which values were drawn for which record, with which coins. Private: never exported.

CREATE TABLE priv.drawn (
    source BIGINT   NOT NULL,
    coins  VARCHAR  NOT NULL,
    mark   UBIGINT  NOT NULL,
    value  UINTEGER NOT NULL,
    person UBIGINT
);
COMMENT ON TABLE  priv.drawn IS 'PRIVATE, never exported: the true values, as keyed fingerprints, that were ever drawn for a record with the same coins. A record is charged once for each.';
COMMENT ON COLUMN priv.drawn.source IS 'Number of the source that had the record.';
COMMENT ON COLUMN priv.drawn.coins IS 'Fingerprint of the coins, as in priv.ledger.';
COMMENT ON COLUMN priv.drawn.mark IS 'Fingerprint of the record id.';
COMMENT ON COLUMN priv.drawn.value IS '32 bits of the value, keyed by priv.identity.';
COMMENT ON COLUMN priv.drawn.person IS 'Fingerprint of the person that the record is of, as in priv.fingerprint; NULL where none was named.';

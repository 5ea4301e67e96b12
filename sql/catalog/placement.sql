-- priv.placement: what the public columns of the known records held. Private: never exported.

CREATE TABLE priv.placement (
    source BIGINT   NOT NULL,
    mark   UBIGINT  NOT NULL,
    placed UINTEGER NOT NULL
);
COMMENT ON TABLE  priv.placement IS 'PRIVATE, never exported: keyed fingerprints of the public values of the known records, by which it is told who has other ones.';
COMMENT ON COLUMN priv.placement.source IS 'Number of the source.';
COMMENT ON COLUMN priv.placement.mark IS 'The record, as in priv.fingerprint.';
COMMENT ON COLUMN priv.placement.placed IS '32 bits of all its public values together, keyed by priv.identity.';

-- priv.fingerprint: by what the records of a source are known again. Private: never exported.

CREATE TABLE priv.fingerprint (
    source    BIGINT   NOT NULL,
    kind      VARCHAR  NOT NULL CHECK (kind IN ('id', 'content', 'person')),
    level     UTINYINT NOT NULL,
    mark      UBIGINT  NOT NULL
);
COMMENT ON TABLE  priv.fingerprint IS 'PRIVATE, never exported: keyed fingerprints of a sample of the records of each source, by which they are known again.';
COMMENT ON COLUMN priv.fingerprint.source IS 'Number of the source.';
COMMENT ON COLUMN priv.fingerprint.kind IS 'Of what: the record id, what the record holds, or the person it belongs to.';
COMMENT ON COLUMN priv.fingerprint.level IS 'With how many zero bits its hash begins: it is in the sample of every source of at most this level that has it.';
COMMENT ON COLUMN priv.fingerprint.mark IS '64 bits, keyed by priv.identity.';

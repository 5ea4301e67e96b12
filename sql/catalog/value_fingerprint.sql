-- priv.value_fingerprint: which of the known records had which value. Private: never exported.

CREATE TABLE priv.value_fingerprint (
    source    BIGINT   NOT NULL,
    attribute VARCHAR  NOT NULL,
    mark      UBIGINT  NOT NULL,
    value     UINTEGER NOT NULL
);
COMMENT ON TABLE  priv.value_fingerprint IS 'PRIVATE, never exported: keyed fingerprints of sensitive values, by which a renamed attribute and a changed value are noticed.';
COMMENT ON COLUMN priv.value_fingerprint.source IS 'Number of the source.';
COMMENT ON COLUMN priv.value_fingerprint.attribute IS 'Name of the sensitive column, in lower case.';
COMMENT ON COLUMN priv.value_fingerprint.mark IS 'Fingerprint of the record id.';
COMMENT ON COLUMN priv.value_fingerprint.value IS '32 bits of the value, keyed by priv.identity.';

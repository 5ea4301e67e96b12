-- priv.identity: the key by which this database recognizes records. Private: never exported.

CREATE TABLE priv.identity (
    key        BLOB      NOT NULL CHECK (octet_length(key) = 32),
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.identity IS 'PRIVATE, never exported: the key of the marks of records.';
COMMENT ON COLUMN priv.identity.key IS '256 bits from the operating system. It keys the marks of records, not the noise, and does not change with the secret.';
COMMENT ON COLUMN priv.identity.created_at IS 'When the first record was marked (UTC).';

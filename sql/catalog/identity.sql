-- priv.identity: the key by which this database knows records again. Private: never exported.

CREATE TABLE priv.identity (
    key        BLOB      NOT NULL CHECK (octet_length(key) = 32),
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.identity IS 'PRIVATE, never exported: the key of the marks of records.';
COMMENT ON COLUMN priv.identity.key IS '256 bits from the operating system. It keys marks and no noise, and stays when the secret is changed.';
COMMENT ON COLUMN priv.identity.created_at IS 'When the first record was marked (UTC).';

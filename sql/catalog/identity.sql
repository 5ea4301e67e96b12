-- priv.identity: what this database is known by, whatever its file is called. Private: never exported.

CREATE TABLE priv.identity (
    database   UUID      NOT NULL,
    key        BLOB      NOT NULL CHECK (octet_length(key) = 32),
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.identity IS 'PRIVATE, never exported: what this database is known by, and the key of the fingerprints of its records.';
COMMENT ON COLUMN priv.identity.database IS 'Stays the same when the file is renamed, copied, or attached under another name.';
COMMENT ON COLUMN priv.identity.key IS '256 bits from the operating system. It keys fingerprints and no noise, and stays when the secret is changed.';
COMMENT ON COLUMN priv.identity.created_at IS 'When the database was first prepared for publishing (UTC).';

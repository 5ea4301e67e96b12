-- priv.secret: the key behind every keyed release. Private: never exported.

CREATE TABLE priv.secret (
    key         BLOB      CHECK (octet_length(key) = 32),
    fingerprint VARCHAR   NOT NULL,
    created_at  TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.secret IS 'PRIVATE, never exported: the key behind every keyed release. Someone who has it can undo the noise.';
COMMENT ON COLUMN priv.secret.key IS '256 bits from the operating system; NULL if the caller of install() keeps the key.';
COMMENT ON COLUMN priv.secret.fingerprint IS 'Hash of the key: equal for equal keys, and reveals nothing else about them.';
COMMENT ON COLUMN priv.secret.created_at IS 'When the key was first used here (UTC).';

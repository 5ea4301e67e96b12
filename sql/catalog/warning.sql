-- priv.warning: what a publisher was warned of. Private: it may speak of true values, and is never exported.

CREATE TABLE priv.warning (
    release VARCHAR NOT NULL,
    number  INTEGER NOT NULL,
    warning VARCHAR NOT NULL CHECK (warning <> ''),
    PRIMARY KEY (release, number)
);
COMMENT ON TABLE  priv.warning IS 'PRIVATE, never exported: the warnings of each publication.';
COMMENT ON COLUMN priv.warning.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.warning.number IS 'Place of the warning in the receipt, from 1.';
COMMENT ON COLUMN priv.warning.warning IS 'The warning; it may quote shares of true values.';

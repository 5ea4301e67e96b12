-- priv.source: the tables that were published, as what they held. Private: never exported.

CREATE TABLE priv.source (
    number     BIGINT    PRIMARY KEY,
    population BIGINT    NOT NULL,
    name       VARCHAR   NOT NULL,
    origins    VARCHAR[] NOT NULL,
    records    BIGINT    NOT NULL CHECK (records > 0),
    level      UTINYINT  NOT NULL,
    known_by   VARCHAR   NOT NULL CHECK (known_by IN ('id', 'content')),
    first_seen TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.source IS 'PRIVATE, never exported: the tables that were published, as what they held. Other records make another source.';
COMMENT ON COLUMN priv.source.number IS 'Running number.';
COMMENT ON COLUMN priv.source.population IS 'Sources that share records or tables are of one population, for which the ledger adds up.';
COMMENT ON COLUMN priv.source.name IS 'What it was called when it was first published.';
COMMENT ON COLUMN priv.source.origins IS 'The tables that it reads, each with the identity of its database where that has one.';
COMMENT ON COLUMN priv.source.records IS 'How many records it has.';
COMMENT ON COLUMN priv.source.level IS 'One of 2 ** level records has fingerprints, chosen by a hash of the record.';
COMMENT ON COLUMN priv.source.known_by IS 'Whether its records are known by their ids, or only by what they hold.';
COMMENT ON COLUMN priv.source.first_seen IS 'When it was first published (UTC).';

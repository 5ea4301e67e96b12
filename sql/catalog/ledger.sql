-- priv.ledger: everything that was ever published. Private: never exported.

CREATE TABLE priv.ledger (
    number       BIGINT    PRIMARY KEY,
    publication  BIGINT    NOT NULL,
    population   VARCHAR   NOT NULL CHECK (population <> ''),
    release      VARCHAR   NOT NULL,
    source       VARCHAR   NOT NULL,
    source_version VARCHAR,
    record_id    VARCHAR[] NOT NULL,
    id_types     VARCHAR[] NOT NULL,
    attribute    VARCHAR   NOT NULL,
    mechanism    VARCHAR   NOT NULL,
    parameters   VARCHAR   NOT NULL,
    epsilon      DOUBLE    CHECK (epsilon >= 0),
    delta        DOUBLE    NOT NULL CHECK (delta >= 0 AND delta <= 1),
    fresh        BOOLEAN   NOT NULL,
    grouped      BOOLEAN   NOT NULL,
    coins        VARCHAR   NOT NULL,
    adds         BOOLEAN   NOT NULL,
    whole        BOOLEAN   NOT NULL,
    reason       VARCHAR   NOT NULL,
    published_at TIMESTAMP NOT NULL,
    records      BIGINT    NOT NULL,
    new_records  BIGINT,
    changed      BIGINT,
    digest       VARCHAR,
    level        UTINYINT,
    public       VARCHAR[] NOT NULL,
    persons      BIGINT,
    person_rows  BIGINT,
    person_adds  BIGINT    NOT NULL CHECK (person_adds >= 0),
    person       VARCHAR[],
    max_rows     BIGINT
);
COMMENT ON TABLE  priv.ledger IS 'PRIVATE, never exported: everything that was ever published of which population. FROM priv.ledger() adds it up.';
COMMENT ON COLUMN priv.ledger.number IS 'Running number, one per release and sensitive attribute.';
COMMENT ON COLUMN priv.ledger.publication IS 'What priv.seen calls it: the number of the first entry of this release with these draws, or of another publication of exactly the same.';
COMMENT ON COLUMN priv.ledger.population IS 'The people it is about: within a population an id means one person, and everything adds up.';
COMMENT ON COLUMN priv.ledger.release IS 'Name of the published table; it stays here when the release is dropped.';
COMMENT ON COLUMN priv.ledger.source IS 'The table or view that was published.';
COMMENT ON COLUMN priv.ledger.source_version IS 'Which version of it: of a Delta table, a snapshot of an Iceberg table, a digest of files. NULL where nothing tells.';
COMMENT ON COLUMN priv.ledger.record_id IS 'The columns whose values key the noise; empty where it was fresh.';
COMMENT ON COLUMN priv.ledger.id_types IS 'Their types.';
COMMENT ON COLUMN priv.ledger.attribute IS 'The sensitive attribute; * where every column is treated in the same way.';
COMMENT ON COLUMN priv.ledger.mechanism IS 'How it was perturbed; public where an attribute that has noise elsewhere was published as it is.';
COMMENT ON COLUMN priv.ledger.parameters IS 'Parameters of the mechanism, a JSON object.';
COMMENT ON COLUMN priv.ledger.epsilon IS 'Differential privacy parameter: local, of this attribute; of whole records for *. NULL where the mechanism has none.';
COMMENT ON COLUMN priv.ledger.delta IS 'Its delta.';
COMMENT ON COLUMN priv.ledger.fresh IS 'Whether the noise was drawn for this publication alone; else it is keyed by the record id.';
COMMENT ON COLUMN priv.ledger.grouped IS 'Whether what a record shows depends on the records that it is grouped with.';
COMMENT ON COLUMN priv.ledger.coins IS 'Fingerprint of all that defines the noise: two publications with the same one show the same value for the same id and true value.';
COMMENT ON COLUMN priv.ledger.adds IS 'Whether it adds to what the population had spent.';
COMMENT ON COLUMN priv.ledger.whole IS 'Whether every record is charged; newcomers and corrections are counted from here on.';
COMMENT ON COLUMN priv.ledger.reason IS 'Why it adds, or why it does not.';
COMMENT ON COLUMN priv.ledger.published_at IS 'When it was published (UTC).';
COMMENT ON COLUMN priv.ledger.records IS 'How many records the source had.';
COMMENT ON COLUMN priv.ledger.new_records IS 'How many of their ids were never drawn in this way; NULL without ids.';
COMMENT ON COLUMN priv.ledger.changed IS 'How many ids that were have another value now.';
COMMENT ON COLUMN priv.ledger.digest IS 'Tells whether two publications have the same ids with the same true values.';
COMMENT ON COLUMN priv.ledger.level IS 'Of one in 2 ** level records priv.seen keeps the values, chosen by the keyed mark.';
COMMENT ON COLUMN priv.ledger.public IS 'The columns that were published as they are.';
COMMENT ON COLUMN priv.ledger.persons IS 'How many people the records are of; NULL where the publisher did not name them.';
COMMENT ON COLUMN priv.ledger.person_rows IS 'The most records that one of them has; NULL where the publisher did not name them.';
COMMENT ON COLUMN priv.ledger.person_adds IS 'How many draws it adds for one person, at most; 0 where the publisher did not name them.';
COMMENT ON COLUMN priv.ledger.person IS 'The columns that say whose record it is.';
COMMENT ON COLUMN priv.ledger.max_rows IS 'The most records of one person that were published; NULL where that was not limited.';

-- priv.ledger: everything that was ever published. Private: never exported.

CREATE TABLE priv.ledger (
    number       BIGINT    PRIMARY KEY,
    release      VARCHAR   NOT NULL,
    source       VARCHAR   NOT NULL,
    origins      VARCHAR[] NOT NULL,
    record_id    VARCHAR[] NOT NULL,
    attribute    VARCHAR   NOT NULL,
    mechanism    VARCHAR   NOT NULL,
    parameters   VARCHAR   NOT NULL,
    epsilon      DOUBLE    CHECK (epsilon >= 0),
    delta        DOUBLE    NOT NULL CHECK (delta >= 0 AND delta <= 1),
    fresh        BOOLEAN   NOT NULL,
    coins        VARCHAR   NOT NULL,
    reason       VARCHAR,
    published_at TIMESTAMP NOT NULL,
    adds             BOOLEAN NOT NULL,
    attribute_number BIGINT  NOT NULL,
    source_number    BIGINT  NOT NULL,
    records          BIGINT  NOT NULL,
    seen             BIGINT,
    changed          BIGINT  NOT NULL,
    persons          BIGINT,
    persons_seen     BIGINT,
    person_rows      BIGINT,
    person_adds      BOOLEAN NOT NULL,
    person           VARCHAR[],
    max_rows         BIGINT
);
COMMENT ON TABLE  priv.ledger IS 'PRIVATE, never exported: everything that was ever published from which source. FROM priv.ledger() adds it up.';
COMMENT ON COLUMN priv.ledger.number IS 'Running number, one per release and sensitive attribute.';
COMMENT ON COLUMN priv.ledger.release IS 'Name of the published table; it stays here when the release is dropped.';
COMMENT ON COLUMN priv.ledger.source IS 'The table or view that was published.';
COMMENT ON COLUMN priv.ledger.origins IS 'The tables that the source reads.';
COMMENT ON COLUMN priv.ledger.record_id IS 'The columns that keyed the randomness; empty where it was fresh.';
COMMENT ON COLUMN priv.ledger.attribute IS 'The sensitive attribute; * where every column is treated alike.';
COMMENT ON COLUMN priv.ledger.mechanism IS 'How it was perturbed.';
COMMENT ON COLUMN priv.ledger.parameters IS 'Parameters of the mechanism, a JSON object.';
COMMENT ON COLUMN priv.ledger.epsilon IS 'Differential privacy parameter: local, of this attribute; of whole records for *. NULL where the mechanism has none.';
COMMENT ON COLUMN priv.ledger.delta IS 'Its delta.';
COMMENT ON COLUMN priv.ledger.fresh IS 'Whether the coins were fresh; else they were keyed by the record id, and publishing the same records again gives the same values.';
COMMENT ON COLUMN priv.ledger.coins IS 'Fingerprint of the coins: two publications with the same one show the same value for the same record.';
COMMENT ON COLUMN priv.ledger.reason IS 'Why its records may be published in these groups, and not in others; NULL where the mechanism makes no groups.';
COMMENT ON COLUMN priv.ledger.published_at IS 'When it was published (UTC).';
COMMENT ON COLUMN priv.ledger.adds IS 'Whether it adds to what is known: false where its records show the same values as in an earlier publication.';
COMMENT ON COLUMN priv.ledger.attribute_number IS 'Number of the attribute, which is the same for one that was renamed or whose values were.';
COMMENT ON COLUMN priv.ledger.source_number IS 'The source in priv.source.';
COMMENT ON COLUMN priv.ledger.records IS 'How many records the source had.';
COMMENT ON COLUMN priv.ledger.seen IS 'About how many of them had been published before; NULL where their ids do not tell.';
COMMENT ON COLUMN priv.ledger.changed IS 'About how many of them show another value than an earlier publication with the same coins did, since their true value is another.';
COMMENT ON COLUMN priv.ledger.persons IS 'How many persons the records are of; NULL where the publisher did not name them.';
COMMENT ON COLUMN priv.ledger.persons_seen IS 'About how many of them had records published before; of a source without named persons, about how many records are of a person that was.';
COMMENT ON COLUMN priv.ledger.person_rows IS 'The most records that one of them has; NULL where the publisher did not name them.';
COMMENT ON COLUMN priv.ledger.person_adds IS 'Whether it adds to what is known of a person: false where every record shows the same value as in an earlier publication.';
COMMENT ON COLUMN priv.ledger.person IS 'The columns that tell whose record it is.';
COMMENT ON COLUMN priv.ledger.max_rows IS 'The most records of one person that were published; NULL where that was not limited.';

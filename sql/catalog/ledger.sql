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
COMMENT ON TABLE  priv.ledger IS 'PRIVATE, never exported: everything that was ever published, by population. FROM priv.ledger() adds it up.';
COMMENT ON COLUMN priv.ledger.number IS 'Running number, one per release and sensitive attribute.';
COMMENT ON COLUMN priv.ledger.publication IS 'Number of the publication in priv.seen: that of the first entry of this release with these draws, or of an equal publication.';
COMMENT ON COLUMN priv.ledger.population IS 'The people it is about: within a population an id means one person, and everything adds up.';
COMMENT ON COLUMN priv.ledger.release IS 'Name of the published table. The entry remains when the release is dropped.';
COMMENT ON COLUMN priv.ledger.source IS 'The table or view that was published.';
COMMENT ON COLUMN priv.ledger.source_version IS 'Version of the source: of a Delta table, the snapshot of an Iceberg table, or a digest of files. NULL if it is not known.';
COMMENT ON COLUMN priv.ledger.record_id IS 'The columns whose values key the noise; empty if the noise was drawn afresh.';
COMMENT ON COLUMN priv.ledger.id_types IS 'Types of the columns of the record id.';
COMMENT ON COLUMN priv.ledger.attribute IS 'The sensitive attribute; * if every column is treated in the same way.';
COMMENT ON COLUMN priv.ledger.mechanism IS 'How it was perturbed; public if the attribute was published as it is, though it has noise in another release.';
COMMENT ON COLUMN priv.ledger.parameters IS 'Parameters of the mechanism, a JSON object.';
COMMENT ON COLUMN priv.ledger.epsilon IS 'Differential privacy parameter: local, of this attribute; of whole records for *. NULL where the mechanism has none.';
COMMENT ON COLUMN priv.ledger.delta IS 'Differential privacy parameter delta.';
COMMENT ON COLUMN priv.ledger.fresh IS 'Whether the noise was drawn for this publication only; else the record id keys it.';
COMMENT ON COLUMN priv.ledger.grouped IS 'Whether the published value of a record depends on the other records of its group.';
COMMENT ON COLUMN priv.ledger.coins IS 'Fingerprint of all that defines the noise: two publications with the same one show the same value for the same id and true value.';
COMMENT ON COLUMN priv.ledger.adds IS 'Whether the publication adds to the total of the population.';
COMMENT ON COLUMN priv.ledger.whole IS 'Whether every record is charged. Newcomers and corrections are counted since the last such entry.';
COMMENT ON COLUMN priv.ledger.reason IS 'Why the publication adds to the total, or why it does not.';
COMMENT ON COLUMN priv.ledger.published_at IS 'When it was published (UTC).';
COMMENT ON COLUMN priv.ledger.records IS 'How many records the source had.';
COMMENT ON COLUMN priv.ledger.new_records IS 'How many record ids had no draw of this kind before; NULL without record ids.';
COMMENT ON COLUMN priv.ledger.changed IS 'How many record ids have another true value than at their last draw.';
COMMENT ON COLUMN priv.ledger.digest IS 'Digest of record ids and true values. Publications of the same records have the same digest.';
COMMENT ON COLUMN priv.ledger.level IS 'priv.seen keeps the values of one in 2 ** level records, chosen by their keyed marks.';
COMMENT ON COLUMN priv.ledger.public IS 'The columns that were published as they are.';
COMMENT ON COLUMN priv.ledger.persons IS 'How many people have these records; NULL if the publication did not name people.';
COMMENT ON COLUMN priv.ledger.person_rows IS 'The largest number of records of one person; NULL if the publication did not name people.';
COMMENT ON COLUMN priv.ledger.person_adds IS 'The most draws that the publication adds for one person; 0 if it did not name people.';
COMMENT ON COLUMN priv.ledger.person IS 'The columns that identify the person of a record.';
COMMENT ON COLUMN priv.ledger.max_rows IS 'The limit of published records of one person; NULL if there was none.';

-- priv.budget: what may be spent of the persons of a source. Private: never exported.

CREATE TABLE priv.budget (
    source    VARCHAR   NOT NULL,
    origins   VARCHAR[] NOT NULL,
    linked    VARCHAR[] NOT NULL,
    chosen    UBIGINT,
    marks     UBIGINT[],
    epsilon   DOUBLE    NOT NULL CHECK (epsilon >= 0),
    delta     DOUBLE    NOT NULL CHECK (delta >= 0 AND delta < 1),
    stated_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.budget IS 'PRIVATE, never exported: what may be spent of the persons of a source. Publishing beyond it is refused.';
COMMENT ON COLUMN priv.budget.source IS 'The table or view that it was stated for.';
COMMENT ON COLUMN priv.budget.origins IS 'The tables that it reads, each with the identity of its database where that has one.';
COMMENT ON COLUMN priv.budget.linked IS 'Other tables that were published and found to hold the same records.';
COMMENT ON COLUMN priv.budget.chosen IS 'The largest hash of a record that has a fingerprint.';
COMMENT ON COLUMN priv.budget.marks IS 'Keyed fingerprints of what records hold, of a large table a sample; NULL where none were taken.';
COMMENT ON COLUMN priv.budget.epsilon IS 'The largest epsilon of all that is published of it together.';
COMMENT ON COLUMN priv.budget.delta IS 'The largest delta.';
COMMENT ON COLUMN priv.budget.stated_at IS 'When it was stated (UTC).';

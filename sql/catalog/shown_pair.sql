-- priv.shown_pair: which value is shown for which by records in decoy groups, once for all such records. Private: never exported.

CREATE TABLE priv.shown_pair (
    number    UBIGINT NOT NULL,
    release   VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    value     UBIGINT NOT NULL,
    shown     VARCHAR,
    batch     UINTEGER NOT NULL,
    remaining  UBIGINT NOT NULL
);
COMMENT ON TABLE  priv.shown_pair IS 'PRIVATE, never exported: pairs of a true value and a published value that occur in a release with decoy groups.';
COMMENT ON COLUMN priv.shown_pair.number IS 'Number of the pair in priv.shown_record.';
COMMENT ON COLUMN priv.shown_pair.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.shown_pair.attribute IS 'The sensitive attribute.';
COMMENT ON COLUMN priv.shown_pair.value IS 'Keyed hash of the true value.';
COMMENT ON COLUMN priv.shown_pair.shown IS 'The published value, as text; NULL is the missing value.';
COMMENT ON COLUMN priv.shown_pair.batch IS 'Number of the batch of records that were grouped together, from 0.';
COMMENT ON COLUMN priv.shown_pair.remaining IS 'How many of its records the current version publishes.';

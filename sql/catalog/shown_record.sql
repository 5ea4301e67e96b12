-- priv.shown_record: what records in decoy groups show, so that they show it in the next version too. Private: never exported.

CREATE TABLE priv.shown_record (
    release   VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    mark      UBIGINT NOT NULL,
    value     UBIGINT NOT NULL,
    shown     VARCHAR
);
COMMENT ON TABLE  priv.shown_record IS 'PRIVATE, never exported: what the records of a release by decoy groups show, also of those that have left it.';
COMMENT ON COLUMN priv.shown_record.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.shown_record.attribute IS 'The sensitive attribute.';
COMMENT ON COLUMN priv.shown_record.mark IS 'Keyed hash of the source tables and the record id.';
COMMENT ON COLUMN priv.shown_record.value IS 'Keyed hash of the true value that the record had.';
COMMENT ON COLUMN priv.shown_record.shown IS 'What the record shows for that value, as text; NULL is the missing value.';

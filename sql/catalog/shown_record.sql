-- priv.shown_record: what records in decoy groups show, so that they show it in the next version too. Private: never exported.

CREATE TABLE priv.shown_record (
    mark UBIGINT NOT NULL,
    pair UBIGINT NOT NULL
);
COMMENT ON TABLE  priv.shown_record IS 'PRIVATE, never exported: what the records of a release by decoy groups show, also of those that have left it.';
COMMENT ON COLUMN priv.shown_record.mark IS 'Keyed hash of the source tables and the record id.';
COMMENT ON COLUMN priv.shown_record.pair IS 'The number in priv.shown_pair of the release, of the value that the record had, and of what it shows.';

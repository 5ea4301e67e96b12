-- priv.shown_record: what records in decoy groups show, so that they show it in the next version too. Private: never exported.
-- Marks are random bits, so DuckDB would look for a compression in vain. Looking for one of the pairs takes longer than writing them.

CREATE TABLE priv.shown_record (
    mark UBIGINT NOT NULL USING COMPRESSION uncompressed,
    pair UBIGINT NOT NULL USING COMPRESSION uncompressed
);
COMMENT ON TABLE  priv.shown_record IS 'PRIVATE, never exported: the published values of the records of a release with decoy groups, also of those that have left.';
COMMENT ON COLUMN priv.shown_record.mark IS 'Keyed hash of the source tables and the record id.';
COMMENT ON COLUMN priv.shown_record.pair IS 'Number in priv.shown_pair of the release, the true value and the published value.';

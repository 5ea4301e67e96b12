-- priv.grouped_mark: the records that have a decoy group or another group, by keyed marks. Private: never exported.
-- Marks are random bits, so DuckDB would look for a compression in vain. It stores a column that is constant as one value anyhow.

CREATE TABLE priv.grouped_mark (
    draw UBIGINT NOT NULL USING COMPRESSION uncompressed,
    mark UBIGINT NOT NULL USING COMPRESSION uncompressed
);
COMMENT ON TABLE  priv.grouped_mark IS 'PRIVATE, never exported: the records that were grouped, since a record must not have two groups.';
COMMENT ON COLUMN priv.grouped_mark.draw IS 'The first 64 bits of the fingerprint of the groups in priv.ledger.';
COMMENT ON COLUMN priv.grouped_mark.mark IS 'Keyed mark of the record id.';

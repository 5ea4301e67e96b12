-- priv.mark: the records of each draw, by keyed marks. Private: never exported.
-- Marks are random bits, so DuckDB would look for a compression in vain. It stores a column that is constant as one value anyhow.

CREATE TABLE priv.mark (
    draw   UBIGINT  NOT NULL USING COMPRESSION uncompressed,
    mark   UBIGINT  NOT NULL USING COMPRESSION uncompressed,
    value  UINTEGER NOT NULL USING COMPRESSION uncompressed,
    person UBIGINT  USING COMPRESSION uncompressed,
    epoch  UINTEGER NOT NULL USING COMPRESSION uncompressed
);
COMMENT ON TABLE  priv.mark IS 'PRIVATE, never exported: the records of each draw, so that publishing again is charged only for new records and values. Kept for up to 10 million records of a draw.';
COMMENT ON COLUMN priv.mark.draw IS 'The first 64 bits of the fingerprint in priv.ledger, column "coins".';
COMMENT ON COLUMN priv.mark.mark IS 'Keyed mark of the record id.';
COMMENT ON COLUMN priv.mark.value IS '32 bits of a keyed mark of the true value.';
COMMENT ON COLUMN priv.mark.person IS 'Keyed mark of the person of the record; NULL if the publication did not name people.';
COMMENT ON COLUMN priv.mark.epoch IS 'How many full charges of the draw there had been when the value was drawn.';

-- priv.mark: which values were drawn for which record, in which way. Private: never exported.

CREATE TABLE priv.mark (
    draw   UBIGINT  NOT NULL,
    mark   UBIGINT  NOT NULL,
    value  UINTEGER NOT NULL,
    person UBIGINT,
    epoch  UINTEGER NOT NULL
);
COMMENT ON TABLE  priv.mark IS 'PRIVATE, never exported: the records that were drawn, so that what is published again is charged only for what is new. Kept for up to 10 million records of a draw.';
COMMENT ON COLUMN priv.mark.draw IS 'The first 64 bits of the fingerprint in priv.ledger, column "coins".';
COMMENT ON COLUMN priv.mark.mark IS 'Keyed mark of the record id.';
COMMENT ON COLUMN priv.mark.value IS '32 bits of a keyed mark of the true value; 0 where the draw is of groups.';
COMMENT ON COLUMN priv.mark.person IS 'Keyed mark of the person that the record is of; NULL where none was named.';
COMMENT ON COLUMN priv.mark.epoch IS 'How many full charges of the draw there had been when the value was drawn.';

-- priv.seen: keyed marks of the values of a sample of published records. Private: never exported.

CREATE TABLE priv.seen (
    publication BIGINT     NOT NULL,
    mark        UBIGINT    NOT NULL,
    marks       UINTEGER[] NOT NULL
);
COMMENT ON TABLE  priv.seen IS 'PRIVATE, never exported: keyed marks of the values of a sample of the records. They show that ids were reassigned, and that a public column is a sensitive one under another name.';
COMMENT ON COLUMN priv.seen.publication IS 'Number of the publication in priv.ledger.';
COMMENT ON COLUMN priv.seen.mark IS 'Keyed mark of the record id; the smallest ones are the sample.';
COMMENT ON COLUMN priv.seen.marks IS '32 bits of a keyed mark of each value, in the order of priv.seen_column.';

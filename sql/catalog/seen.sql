-- priv.seen: what a sample of the records held when they were published last. Private: never exported.

CREATE TABLE priv.seen (
    publication BIGINT   NOT NULL,
    mark        UBIGINT  NOT NULL,
    attribute   VARCHAR  NOT NULL,
    sensitive   BOOLEAN  NOT NULL,
    value       UINTEGER NOT NULL
);
COMMENT ON TABLE  priv.seen IS 'PRIVATE, never exported: keyed marks of the values of a sample of the records, by which it is seen that an id belongs to others, and that a column is one that has noise elsewhere.';
COMMENT ON COLUMN priv.seen.publication IS 'The publication, as in priv.ledger.';
COMMENT ON COLUMN priv.seen.mark IS 'Keyed mark of the record id; the smallest ones are the sample.';
COMMENT ON COLUMN priv.seen.attribute IS 'Name of the column, in lower case.';
COMMENT ON COLUMN priv.seen.sensitive IS 'Whether it was perturbed.';
COMMENT ON COLUMN priv.seen.value IS '32 bits of a keyed mark of its value.';

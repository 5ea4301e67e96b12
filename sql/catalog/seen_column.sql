-- priv.seen_column: the columns of the samples in priv.seen. Private: never exported.

CREATE TABLE priv.seen_column (
    publication BIGINT   NOT NULL,
    place       UINTEGER NOT NULL,
    attribute   VARCHAR  NOT NULL,
    sensitive   BOOLEAN  NOT NULL
);
COMMENT ON TABLE  priv.seen_column IS 'PRIVATE, never exported: the columns of the samples in priv.seen.';
COMMENT ON COLUMN priv.seen_column.publication IS 'Number of the publication in priv.ledger.';
COMMENT ON COLUMN priv.seen_column.place IS 'Place of the column in priv.seen.marks, from 1.';
COMMENT ON COLUMN priv.seen_column.attribute IS 'Name of the column, in lower case.';
COMMENT ON COLUMN priv.seen_column.sensitive IS 'Whether the column was perturbed.';

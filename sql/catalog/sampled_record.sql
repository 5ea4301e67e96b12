-- priv.sampled_record: which records represent the groups of a release by samples, so that they do in the next version too.
-- Private: never exported.

CREATE TABLE priv.sampled_record (
    release VARCHAR NOT NULL,
    grouped UBIGINT NOT NULL,
    mark    UBIGINT NOT NULL,
    scale   DOUBLE,
    in_version  BOOLEAN NOT NULL
);
COMMENT ON TABLE  priv.sampled_record IS 'PRIVATE, never exported: the sampled records of a release with sampled groups, also those that have left.';
COMMENT ON COLUMN priv.sampled_record.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.sampled_record.grouped IS 'Keyed hash of the public values of the group.';
COMMENT ON COLUMN priv.sampled_record.mark IS 'Keyed hash of the record id and the true value.';
COMMENT ON COLUMN priv.sampled_record.scale IS 'How many records its row represents; NULL if the record has no row, since others represent it.';
COMMENT ON COLUMN priv.sampled_record.in_version IS 'Whether the record was in its group, with this value, when the last version was published.';

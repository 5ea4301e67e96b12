-- priv.grouped_record: which records have a decoy group already. Private: never exported.

CREATE TABLE priv.grouped_record (
    attribute UINTEGER NOT NULL,
    mark      UBIGINT  NOT NULL
);
COMMENT ON TABLE  priv.grouped_record IS 'PRIVATE, never exported: the records that were published by decoy groups, so that none is grouped a second time unnoticed.';
COMMENT ON COLUMN priv.grouped_record.attribute IS 'The number in priv.grouped_attribute of the sensitive attribute.';
COMMENT ON COLUMN priv.grouped_record.mark IS 'Keyed hash of the source tables and the record id.';

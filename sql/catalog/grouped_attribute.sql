-- priv.grouped_attribute: the attributes that records were grouped by, numbered. Private: never exported.

CREATE TABLE priv.grouped_attribute (
    number UINTEGER PRIMARY KEY,
    name   VARCHAR  NOT NULL
);
COMMENT ON TABLE  priv.grouped_attribute IS 'PRIVATE, never exported: the sensitive attributes that records have decoy groups of.';
COMMENT ON COLUMN priv.grouped_attribute.number IS 'What priv.grouped_record names the attribute by.';
COMMENT ON COLUMN priv.grouped_attribute.name IS 'The sensitive attribute.';

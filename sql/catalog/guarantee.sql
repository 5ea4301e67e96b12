-- priv.guarantee: what each release promises. Public: travels with the release.

CREATE TABLE priv.guarantee (
    release    VARCHAR NOT NULL,
    attribute  VARCHAR,
    guarantee  VARCHAR NOT NULL,
    parameters VARCHAR NOT NULL,
    value      DOUBLE,
    statement  VARCHAR NOT NULL CHECK (statement <> '')
);
COMMENT ON TABLE  priv.guarantee IS 'What each release promises: verified when it was published.';
COMMENT ON COLUMN priv.guarantee.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.guarantee.attribute IS 'Name of the sensitive attribute; NULL if the guarantee is about the whole record.';
COMMENT ON COLUMN priv.guarantee.guarantee IS 'Short name of the guarantee.';
COMMENT ON COLUMN priv.guarantee.parameters IS 'Its parameters, a JSON object.';
COMMENT ON COLUMN priv.guarantee.value IS 'Its value, for instance epsilon.';
COMMENT ON COLUMN priv.guarantee.statement IS 'The guarantee in words.';

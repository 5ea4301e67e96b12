-- priv.withdrawn: records and people that are no longer published. Private: never exported.

CREATE TABLE priv.withdrawn (
    population   VARCHAR   NOT NULL,
    kind         VARCHAR   NOT NULL CHECK (kind IN ('record', 'person')),
    id_columns   VARCHAR[] NOT NULL,
    mark         UBIGINT   NOT NULL,
    withdrawn_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.withdrawn IS 'PRIVATE, never exported: records and people that no later publication of their population contains.';
COMMENT ON COLUMN priv.withdrawn.population IS 'The population in which the id means one record, or one person.';
COMMENT ON COLUMN priv.withdrawn.kind IS 'Whether a record was withdrawn, or all records of a person.';
COMMENT ON COLUMN priv.withdrawn.id_columns IS 'The columns of the id, in lower case.';
COMMENT ON COLUMN priv.withdrawn.mark IS 'Keyed mark of the id, so that the id itself is not kept.';
COMMENT ON COLUMN priv.withdrawn.withdrawn_at IS 'When it was withdrawn (UTC).';

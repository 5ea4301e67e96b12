-- priv.withdrawn: whose records are published no more. Private: never exported.

CREATE TABLE priv.withdrawn (
    origins      VARCHAR[] NOT NULL,
    kind         VARCHAR   NOT NULL CHECK (kind IN ('record', 'person')),
    id_columns   VARCHAR[],
    mark         UBIGINT   NOT NULL,
    withdrawn_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.withdrawn IS 'PRIVATE, never exported: records and persons that enter no further version of any release.';
COMMENT ON COLUMN priv.withdrawn.origins IS 'The tables that they stand in, each with the identity of its database where that has one.';
COMMENT ON COLUMN priv.withdrawn.kind IS 'Whether a record was withdrawn, or all records of a person.';
COMMENT ON COLUMN priv.withdrawn.id_columns IS 'The columns of the id; NULL where it is looked for in those that a publication names.';
COMMENT ON COLUMN priv.withdrawn.mark IS 'Keyed fingerprint of the id, so that the id itself is not kept.';
COMMENT ON COLUMN priv.withdrawn.withdrawn_at IS 'When it was withdrawn (UTC).';

-- priv.publication: the arguments of each release, so that it can be refreshed. Private: never exported.

CREATE TABLE priv.publication (
    release   VARCHAR   PRIMARY KEY CHECK (release <> ''),
    mechanism VARCHAR   NOT NULL,
    arguments VARCHAR   NOT NULL,
    schemas   VARCHAR[] NOT NULL,
    version   INTEGER   NOT NULL CHECK (version >= 1),
    digest    VARCHAR   NOT NULL,
    export    VARCHAR,
    exported  INTEGER,
    frame     VARCHAR
);
COMMENT ON TABLE  priv.publication IS 'PRIVATE, never exported: the arguments of each release, so that FROM priv.refresh(release) can publish its next version.';
COMMENT ON COLUMN priv.publication.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.publication.mechanism IS 'How it was published: priv.publish_<mechanism>.';
COMMENT ON COLUMN priv.publication.arguments IS 'The arguments of its publication, a JSON object.';
COMMENT ON COLUMN priv.publication.schemas IS 'The search path: the schemas in which table names were looked up, in order.';
COMMENT ON COLUMN priv.publication.version IS 'Number of the version in the database.';
COMMENT ON COLUMN priv.publication.digest IS 'Digest of the source at that version. Another digest means that the source has changed.';
COMMENT ON COLUMN priv.publication.export IS 'The arguments of the last export, a JSON object: path, format and more; NULL if it was never exported.';
COMMENT ON COLUMN priv.publication.exported IS 'The version that was exported last.';
COMMENT ON COLUMN priv.publication.frame IS 'How Spark reads its data frame, a JSON object; NULL if DuckDB reads the source.';

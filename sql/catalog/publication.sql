-- priv.publication: how each release was declared, so that it can be refreshed. Private: never exported.

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
COMMENT ON TABLE  priv.publication IS 'PRIVATE, never exported: how each release was declared, so that FROM priv.refresh(release) can publish its next version.';
COMMENT ON COLUMN priv.publication.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.publication.mechanism IS 'How it was published: priv.publish_<mechanism>.';
COMMENT ON COLUMN priv.publication.arguments IS 'The arguments of its publication, a JSON object.';
COMMENT ON COLUMN priv.publication.schemas IS 'Where names of tables were looked up, in order.';
COMMENT ON COLUMN priv.publication.version IS 'The version that is in the database.';
COMMENT ON COLUMN priv.publication.digest IS 'Whether the source still holds what that version was made of: a digest.';
COMMENT ON COLUMN priv.publication.export IS 'The arguments of the last export, a JSON object: path, format and more; NULL if it never was.';
COMMENT ON COLUMN priv.publication.exported IS 'The version that was exported last.';
COMMENT ON COLUMN priv.publication.frame IS 'How its data frame is read where Spark holds the records, a JSON object; NULL where DuckDB does.';

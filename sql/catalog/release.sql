-- priv.release: one row per published table. Public: travels with the release.

CREATE TABLE priv.release (
    release           VARCHAR   PRIMARY KEY CHECK (release <> ''),
    mechanism         VARCHAR   NOT NULL CHECK (mechanism <> ''),
    parameters        VARCHAR   NOT NULL,
    domain_provenance VARCHAR   NOT NULL,
    rows_published    BIGINT    NOT NULL CHECK (rows_published >= 0),
    created_at        TIMESTAMP NOT NULL,
    library_version   VARCHAR   NOT NULL,
    title             VARCHAR,
    description       VARCHAR,
    contact           VARCHAR,
    licence           VARCHAR,
    version           INTEGER   NOT NULL DEFAULT 1 CHECK (version >= 1),
    previous_at       TIMESTAMP,
    previous_rows     BIGINT    CHECK (previous_rows >= 0),
    rows_kept         BIGINT    CHECK (rows_kept >= 0),
    rows_moved        BIGINT    CHECK (rows_moved >= 0),
    earlier           STRUCT(published_at TIMESTAMP, rows_moved BIGINT, rows_placed BIGINT)[]
);
COMMENT ON TABLE  priv.release IS 'One row per published table: its mechanism, its parameters, and the version of the library.';
COMMENT ON COLUMN priv.release.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.release.mechanism IS 'How the sensitive attributes were perturbed.';
COMMENT ON COLUMN priv.release.parameters IS 'Parameters of the mechanism, a JSON object.';
COMMENT ON COLUMN priv.release.domain_provenance IS 'Per sensitive attribute, a JSON object: "given" by the publisher independently of the data, or taken from the "source".';
COMMENT ON COLUMN priv.release.rows_published IS 'Rows in the published table.';
COMMENT ON COLUMN priv.release.created_at IS 'When it was published (UTC).';
COMMENT ON COLUMN priv.release.library_version IS 'Version of duckdb_priv that published it.';
COMMENT ON COLUMN priv.release.title IS 'The title of the release for people; NULL if its publisher gave none.';
COMMENT ON COLUMN priv.release.description IS 'The description of the release for its readers; NULL if its publisher gave none.';
COMMENT ON COLUMN priv.release.contact IS 'Where readers may ask; NULL if its publisher gave none.';
COMMENT ON COLUMN priv.release.licence IS 'The licence, as text; NULL if its publisher gave none.';
COMMENT ON COLUMN priv.release.version IS 'Number of the version: 1 for the first publication of this name.';
COMMENT ON COLUMN priv.release.previous_at IS 'created_at of the version before; NULL if there is none, or it is not known.';
COMMENT ON COLUMN priv.release.previous_rows IS 'Rows of the version before.';
COMMENT ON COLUMN priv.release.rows_kept IS 'How many published rows are equal in both versions. Anyone who has both can count them. NULL if columns or parameters differ.';
COMMENT ON COLUMN priv.release.rows_moved IS 'Upper bound of the records that came, left or were redrawn since the version before, rounded up to a hundred. Only their noise differs. NULL if it is not known.';
COMMENT ON COLUMN priv.release.earlier IS 'For each earlier version: when it was published, an upper bound of the rows that moved since, and the same bound if records with changed public values count as moved.';

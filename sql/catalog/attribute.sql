-- priv.attribute: one row per column of each published table. Public: travels with the release.

CREATE TABLE priv.attribute (
    release     VARCHAR NOT NULL,
    attribute   VARCHAR NOT NULL,
    role        VARCHAR NOT NULL CHECK (role IN ('public', 'sensitive', 'generalized', 'group', 'scale')),
    type        VARCHAR NOT NULL,
    domain_size BIGINT  CHECK (domain_size >= 1),
    form        VARCHAR,
    column_name VARCHAR NOT NULL,
    blocks      STRUCT(number INTEGER, stride INTEGER, first INTEGER[], type VARCHAR),
    description VARCHAR,
    labels      STRUCT(value VARCHAR, label VARCHAR)[],
    PRIMARY KEY (release, attribute)
);
COMMENT ON TABLE  priv.attribute IS 'One row per column of each published table, and the attribute that it shows.';
COMMENT ON COLUMN priv.attribute.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.attribute.attribute IS 'Name of the attribute, as the source has it.';
COMMENT ON COLUMN priv.attribute.role IS 'public: published as it is. sensitive: perturbed. generalized: made coarser, of a sample. group: number of the group whose records share a list of sensitive values. scale: how many source records a row represents, or how strongly it is perturbed.';
COMMENT ON COLUMN priv.attribute.type IS 'Type of the attribute in the source, ENUM for a sensitive text. A noisy column is an ENUM of its domain, whatever the type; priv.coefficient lists its values.';
COMMENT ON COLUMN priv.attribute.domain_size IS 'How many values a sensitive or generalized attribute can take, the missing value included; NULL for other roles.';
COMMENT ON COLUMN priv.attribute.form IS 'Which form the estimates of a sensitive or generalized attribute take: two_weights, rank_one, operator, sample, listed, constant, ...; NULL for other roles.';
COMMENT ON COLUMN priv.attribute.column_name IS 'Name of the published column: noisy_<attribute> for a sensitive attribute, which holds perturbed values; else the name of the attribute.';
COMMENT ON COLUMN priv.attribute.blocks IS 'Where a record reports the number of a block of values: how many blocks there are, the blocks of the value at position 0, and the type of the values. The value at position x is in the blocks (first + x * stride) % number. NULL where records report values.';
COMMENT ON COLUMN priv.attribute.description IS 'The comment on the column of the source; NULL if it has none.';
COMMENT ON COLUMN priv.attribute.labels IS 'The labels of its codes, one for each value that has one; NULL if the publisher gave none. In a release file priv.label lists them.';

-- priv.budget: the limit of what publications may reveal about a population. Private: never exported.

CREATE TABLE priv.budget (
    population VARCHAR   PRIMARY KEY CHECK (population <> ''),
    epsilon    DOUBLE    NOT NULL CHECK (epsilon >= 0),
    delta      DOUBLE    NOT NULL CHECK (delta >= 0 AND delta < 1),
    stated_at  TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.budget IS 'PRIVATE, never exported: the limit of a population. A publication that would exceed it is refused.';
COMMENT ON COLUMN priv.budget.population IS 'The population that the limit is for.';
COMMENT ON COLUMN priv.budget.epsilon IS 'The largest total epsilon of all its publications.';
COMMENT ON COLUMN priv.budget.delta IS 'The largest total delta.';
COMMENT ON COLUMN priv.budget.stated_at IS 'When the limit was set (UTC).';

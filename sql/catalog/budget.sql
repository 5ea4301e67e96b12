-- priv.budget: what may be spent of a population. Private: never exported.

CREATE TABLE priv.budget (
    population VARCHAR   PRIMARY KEY CHECK (population <> ''),
    epsilon    DOUBLE    NOT NULL CHECK (epsilon >= 0),
    delta      DOUBLE    NOT NULL CHECK (delta >= 0 AND delta < 1),
    stated_at  TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.budget IS 'PRIVATE, never exported: what may be spent of a population. Publishing beyond it is refused.';
COMMENT ON COLUMN priv.budget.population IS 'The population that it was stated for.';
COMMENT ON COLUMN priv.budget.epsilon IS 'The largest epsilon of all that is published of it together.';
COMMENT ON COLUMN priv.budget.delta IS 'The largest delta.';
COMMENT ON COLUMN priv.budget.stated_at IS 'When it was stated (UTC).';

-- priv.noisy_count: the counts that were answered by priv.laplace_count. Private: never exported.

CREATE TABLE priv.noisy_count (
    population VARCHAR   NOT NULL CHECK (population <> ''),
    epsilon    DOUBLE    NOT NULL CHECK (epsilon > 0),
    calls      BIGINT    NOT NULL CHECK (calls > 0),
    asked_at   TIMESTAMP NOT NULL
);
COMMENT ON TABLE  priv.noisy_count IS 'PRIVATE, never exported: the counts that were answered with noise by priv.laplace_count. FROM priv.ledger() adds them up.';
COMMENT ON COLUMN priv.noisy_count.population IS 'The population whose records were counted.';
COMMENT ON COLUMN priv.noisy_count.epsilon IS 'Differential privacy parameter of one answer.';
COMMENT ON COLUMN priv.noisy_count.calls IS 'How many answers were given.';
COMMENT ON COLUMN priv.noisy_count.asked_at IS 'When they were given (UTC).';

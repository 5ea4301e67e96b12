-- priv.noisy_count: the counts with noise that were given of a population. Private: never exported.

CREATE TABLE priv.noisy_count (
    population  VARCHAR   NOT NULL CHECK (population <> ''),
    epsilon     DOUBLE    CHECK (epsilon > 0),
    calls       BIGINT    NOT NULL CHECK (calls > 0),
    asked_at    TIMESTAMP NOT NULL,
    release     VARCHAR,
    coins       VARCHAR,
    person_rows BIGINT    CHECK (person_rows > 0)
);
COMMENT ON TABLE  priv.noisy_count IS 'PRIVATE, never exported: counts with noise, which priv.laplace_count answered or a release holds. FROM priv.ledger() adds them up.';
COMMENT ON COLUMN priv.noisy_count.population IS 'The population whose records were counted.';
COMMENT ON COLUMN priv.noisy_count.epsilon IS 'Differential privacy parameter of one answer; NULL where it has none.';
COMMENT ON COLUMN priv.noisy_count.calls IS 'How many answers were given.';
COMMENT ON COLUMN priv.noisy_count.asked_at IS 'When they were given (UTC).';
COMMENT ON COLUMN priv.noisy_count.release IS 'The release that holds the number of its records that are left out; NULL where priv.laplace_count answered.';
COMMENT ON COLUMN priv.noisy_count.coins IS 'Fingerprint of all that defines the noise, the number included: the same one shows the same.';
COMMENT ON COLUMN priv.noisy_count.person_rows IS 'The most of the counted records that one person has; NULL where the publisher did not name people.';

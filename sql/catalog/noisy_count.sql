-- priv.noisy_count: the noisy counts that were answered about a population. Private: never exported.

CREATE TABLE priv.noisy_count (
    population  VARCHAR   NOT NULL CHECK (population <> ''),
    epsilon     DOUBLE    CHECK (epsilon > 0),
    calls       BIGINT    NOT NULL CHECK (calls > 0),
    asked_at    TIMESTAMP NOT NULL,
    release     VARCHAR,
    coins       VARCHAR,
    person_rows BIGINT    CHECK (person_rows > 0)
);
COMMENT ON TABLE  priv.noisy_count IS 'PRIVATE, never exported: noisy counts, answered by priv.laplace_count or published with a release. FROM priv.ledger() adds them up.';
COMMENT ON COLUMN priv.noisy_count.population IS 'The population whose records were counted.';
COMMENT ON COLUMN priv.noisy_count.epsilon IS 'Differential privacy parameter epsilon of one answer; NULL if it has none.';
COMMENT ON COLUMN priv.noisy_count.calls IS 'How many answers were given.';
COMMENT ON COLUMN priv.noisy_count.asked_at IS 'When they were given (UTC).';
COMMENT ON COLUMN priv.noisy_count.release IS 'The release whose left-out records were counted; NULL for an answer of priv.laplace_count.';
COMMENT ON COLUMN priv.noisy_count.coins IS 'Fingerprint of the true number and of all that defines its noise. Equal fingerprints have equal noisy counts.';
COMMENT ON COLUMN priv.noisy_count.person_rows IS 'The largest number of counted records of one person; NULL if the publication did not name people.';

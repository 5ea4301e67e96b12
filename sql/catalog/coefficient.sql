-- priv.coefficient: the numbers that reconstruction is computed from. Public: travels with the release.

CREATE TABLE priv.coefficient (
    release   VARCHAR NOT NULL,
    attribute VARCHAR NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 0),
    value     VARCHAR,
    own        DOUBLE CHECK (own >= 0 AND own <= 1),
    other      DOUBLE CHECK (other >= 0 AND other <= 1),
    retention  DOUBLE CHECK (retention >= 0 AND retention <= 1),
    background DOUBLE,
    inclusion   DOUBLE CHECK (inclusion >= 0 AND inclusion <= 1),
    odds        DOUBLE CHECK (odds >= 0),
    potential   DOUBLE,
    own_weight  DOUBLE,
    tied_weight DOUBLE,
    tied_joint  DOUBLE CHECK (tied_joint >= 0 AND tied_joint <= 1),
    slope      DOUBLE,
    half_step  DOUBLE,
    scatter      DOUBLE,
    most_scatter DOUBLE,
    upward       DOUBLE,
    downward     DOUBLE,
    weights    DOUBLE[],
    operator   DOUBLE[],
    PRIMARY KEY (release, attribute, position)
);
COMMENT ON TABLE  priv.coefficient IS 'One row per value of each sensitive attribute: the numbers that reconstruction is computed from.';
COMMENT ON COLUMN priv.coefficient.release IS 'Name of the published table.';
COMMENT ON COLUMN priv.coefficient.attribute IS 'Name of the sensitive attribute.';
COMMENT ON COLUMN priv.coefficient.position IS 'Place of the value in the domain, from 0; the missing value comes last.';
COMMENT ON COLUMN priv.coefficient.value IS 'The value, as text; NULL is the missing value.';
COMMENT ON COLUMN priv.coefficient.own IS 'Probability that a record that truly has the value shows it.';
COMMENT ON COLUMN priv.coefficient.other IS 'Probability that a record that truly has another value shows this one, if it is the same for every other value.';
COMMENT ON COLUMN priv.coefficient.retention IS 'Probability that a record with the value is not redrawn, if each value has a probability of its own.';
COMMENT ON COLUMN priv.coefficient.background IS 'r of the estimate (observed - sum of r over all rows) / retention, if each value has a retention of its own.';
COMMENT ON COLUMN priv.coefficient.inclusion IS 'Probability that a decoy group holds the value.';
COMMENT ON COLUMN priv.coefficient.odds IS 'Odds of the value in the conditional Poisson law of a decoy group. Values of equal inclusion have equal odds.';
COMMENT ON COLUMN priv.coefficient.potential IS 'W[value, y] = inclusion * (potential - potential of y) / (odds of y - odds), for published values y of other odds.';
COMMENT ON COLUMN priv.coefficient.own_weight IS 'W[value, value].';
COMMENT ON COLUMN priv.coefficient.tied_weight IS 'W[value, y] for other published values y of the same odds.';
COMMENT ON COLUMN priv.coefficient.tied_joint IS 'Probability that a decoy group holds the value and a given other value of the same odds.';
COMMENT ON COLUMN priv.coefficient.slope IS 'How much the variance of the estimate grows when one more record truly has the value.';
COMMENT ON COLUMN priv.coefficient.half_step IS 'Half the distance between neighbouring estimates: the continuity correction of the interval.';
COMMENT ON COLUMN priv.coefficient.scatter IS 'What a record that truly has another value adds to the variance of the estimate, on average over the release.';
COMMENT ON COLUMN priv.coefficient.most_scatter IS 'The most that a record can add to the variance of the estimate.';
COMMENT ON COLUMN priv.coefficient.upward IS 'Skewness of the noise towards large estimates: the third cumulant over the variance, at most.';
COMMENT ON COLUMN priv.coefficient.downward IS 'Skewness of the noise towards small estimates.';
COMMENT ON COLUMN priv.coefficient.weights IS 'W[value, y] for every published value y in order of position: the sum over the rows is the estimate.';
COMMENT ON COLUMN priv.coefficient.operator IS 'Pr[published = y | true = value] for every y in order of position.';

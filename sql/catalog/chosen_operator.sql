-- priv.chosen_operator: operators that were searched for, so that the same questions need no second search. Private: never exported.

CREATE TABLE priv.chosen_operator (
    questions VARCHAR  NOT NULL PRIMARY KEY,
    operator  DOUBLE[] NOT NULL
);
COMMENT ON TABLE  priv.chosen_operator IS 'PRIVATE, never exported: the operators that priv.publish_for_questions found. The same questions use the same operator again.';
COMMENT ON COLUMN priv.chosen_operator.questions IS 'Digest of the questions, the likelihood ratio and the version of the search.';
COMMENT ON COLUMN priv.chosen_operator.operator IS 'Pr[published = y | true = x], for every x within every y.';

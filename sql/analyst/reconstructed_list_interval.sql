-- priv.reconstructed_list_interval(release, column, values [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- The interval of priv.reconstructed_interval, for how many records have one of several values: a list of them, or a single
-- one. Do not add the ends of the single intervals instead: where one value is overestimated, others are underestimated.
--
--   SELECT unnest(priv.reconstructed_list_interval('patients', noisy_disease, ['flu', 'cold'])) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_list_interval(
    _release, _column, _values, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @interval_of_set@ END;

COMMENT ON MACRO priv.reconstructed_list_interval IS
    'Estimate, stderr, low and high of how many records have one of several values.';

-- priv.reconstructed_mean(release, column, values, amount [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- The mean of a number in public columns over the records that have the value, or one of several; rows where it is NULL are
-- left out. It is between the smallest and the largest number that occur. If no record is estimated to have the value, there
-- is no estimate.
--
--   SELECT unnest(priv.reconstructed_mean('patients', noisy_disease, 'flu', age)) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_mean(
    _release, _column, _values, _amount, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ AND @right_amount@ THEN @mean_of_set@ END;

COMMENT ON MACRO priv.reconstructed_mean IS
    'Estimate, stderr, low and high of the mean of a public column over the records that have a value.';

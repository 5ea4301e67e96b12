-- priv.reconstructed_sum(release, column, values, amount [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- The sum of a number in public columns over the records that have the value, or one of several. Rows where it is NULL
-- add nothing.
--
--   SELECT unnest(priv.reconstructed_sum('patients', noisy_disease, 'flu', age)) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_sum(
    _release, _column, _values, _amount, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ AND @right_amount@ THEN @sum_of_set@ END;

COMMENT ON MACRO priv.reconstructed_sum IS
    'Estimate, stderr, low and high of the sum of a public column over the records that have a value.';

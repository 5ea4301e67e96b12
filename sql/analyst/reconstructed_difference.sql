-- priv.reconstructed_difference(release, column, values, other_values [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- How many more records have one value than another, or one of several than one of several others. The same rows make both
-- counts, so their errors depend on each other; the interval includes that.
--
--   SELECT unnest(priv.reconstructed_difference('patients', noisy_disease, 'flu', 'cold')) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_difference(
    _release, _column, _values, _other_values, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_sets@ THEN @difference_of_sets@ END;

COMMENT ON MACRO priv.reconstructed_difference IS
    'Estimate, stderr, low and high of how many more records have a value than another.';

-- priv.reconstructed_group_difference(release, column, values, group, other_group [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- How many more records of one group have the value, or one of several, than records of another. Groups are conditions on
-- public columns; they may overlap.
--
--   SELECT unnest(priv.reconstructed_group_difference('patients', noisy_disease, 'flu', age >= 60, age < 60)) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_group_difference(
    _release, _column, _values, _group, _other_group, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @difference_of_groups@ END;

COMMENT ON MACRO priv.reconstructed_group_difference IS
    'Estimate, stderr, low and high of how many more records of one group have a value than of another.';

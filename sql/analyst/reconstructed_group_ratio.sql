-- priv.reconstructed_group_ratio(release, column, values, group, other_group [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- How many times as many records of one group have the value, or one of several, as records of another. Groups are
-- conditions on public columns; they may overlap. If it is possible that no record of the other group has it, high is
-- infinite; if they are estimated as none, there is no estimate.
--
--   SELECT unnest(priv.reconstructed_group_ratio('patients', noisy_disease, 'flu', age >= 60, age < 60)) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_group_ratio(
    _release, _column, _values, _group, _other_group, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @ratio_of_groups@ END;

COMMENT ON MACRO priv.reconstructed_group_ratio IS
    'Estimate, stderr, low and high of how many times as many records of one group have a value as of another.';

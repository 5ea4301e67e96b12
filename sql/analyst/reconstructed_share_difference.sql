-- priv.reconstructed_share_difference(release, column, values, group, other_group [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- By how much the share of the value, or of several, is larger in one group than in another, from -1 to 1. Groups are
-- conditions on public columns; they may overlap, as a group and all rows do.
--
--   SELECT unnest(priv.reconstructed_share_difference('patients', noisy_disease, 'flu', gender = 'female', gender = 'male'))
--   FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_share_difference(
    _release, _column, _values, _group, _other_group, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @difference_of_shares@ END;

COMMENT ON MACRO priv.reconstructed_share_difference IS
    'Estimate, stderr, low and high of the difference of the shares that have a value in two groups.';

-- priv.reconstructed_share_ratio(release, column, values, group, other_group [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- How many times as frequent the value, or several, is in one group as in another: the relative risk. Groups are conditions
-- on public columns; they may overlap. If it is possible that no record of the other group has it, high is infinite; if they
-- are estimated as none, there is no estimate.
--
--   SELECT unnest(priv.reconstructed_share_ratio('patients', noisy_disease, 'flu', gender = 'female', gender = 'male'))
--   FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_share_ratio(
    _release, _column, _values, _group, _other_group, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @ratio_of_shares@ END;

COMMENT ON MACRO priv.reconstructed_share_ratio IS
    'Estimate, stderr, low and high of the ratio of the shares that have a value in two groups.';

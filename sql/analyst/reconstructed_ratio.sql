-- priv.reconstructed_ratio(release, column, values, other_values [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- How many times as many records have one value as another, or one of several as one of several others. If it is possible
-- that no record has the other, high is infinite and stderr is NULL; if they are estimated as none, there is no estimate.
--
--   SELECT unnest(priv.reconstructed_ratio('patients', noisy_disease, 'flu', ['cold', 'cough'])) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_ratio(
    _release, _column, _values, _other_values, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_sets@ THEN @ratio_of_sets@ END;

COMMENT ON MACRO priv.reconstructed_ratio IS
    'Estimate, stderr, low and high of how many times as many records have a value as another.';

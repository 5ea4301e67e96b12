-- priv.reconstructed_share(release, column, values [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- The share of the records that have the value, or one of several, from 0 to 1; NULL if there are no rows. Times 100 it is a
-- percentage.
--
--   SELECT gender, unnest(priv.reconstructed_share('patients', noisy_disease, 'flu')) FROM patients GROUP BY gender;

CREATE OR REPLACE MACRO priv.reconstructed_share(
    _release, _column, _values, weight := NULL, confidence := 0.95
) AS
    CASE WHEN @right_set@ THEN @share_of_set@ END;

COMMENT ON MACRO priv.reconstructed_share IS
    'Estimate, stderr, low and high of the share of records that have the value, or one of several.';

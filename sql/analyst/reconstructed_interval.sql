-- priv.reconstructed_interval(release, column, value [, weight := scale] [, confidence := 0.95])
--   -> STRUCT(estimate DOUBLE, stderr DOUBLE, low DOUBLE, high DOUBLE), an aggregate
--
-- The estimate with a score interval with continuity correction: the true counts k that the estimate does not contradict,
-- |estimate - k| <= half a step + z * (standard error if k were true), cut to 0 ... number of rows. It contains the true
-- count at least as often as confidence says, also for small counts, where estimate +- 1.96 stderr does not. It contains the
-- possible count that is nearest to the estimate. For a value that cannot be estimated (one that is in every decoy group)
-- low and high are the limits of its count, and the others are NULL.
--
--   SELECT unnest(priv.reconstructed_interval('patients', noisy_disease, 'flu')) FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_interval(_release, _column, _value, weight := NULL, confidence := 0.95) AS
    CASE WHEN @right_interval@ THEN @interval@ END;

COMMENT ON MACRO priv.reconstructed_interval IS
    'Estimate, stderr, low and high: a score interval for the true count, at the given confidence.';

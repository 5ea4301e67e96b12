-- priv.reconstructed_mle(release, column, value [, weight := scale]) -> DOUBLE, an aggregate
--
-- The maximum likelihood estimate of the true count among frequencies that are non-negative and sum to one: the fixed point
-- of the iterative Bayesian method. It is between 0 and the number of rows. It is for display: unlike
-- priv.reconstructed_count it is biased, and does not add up over groups. If a thousand steps do not reach it, that is an
-- error.
--
--   SELECT priv.reconstructed_mle('patients', noisy_disease, 'flu') FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_mle(_release, _column, _value, weight := NULL) AS
    CASE WHEN @right@ THEN @mle@ END;

COMMENT ON MACRO priv.reconstructed_mle IS
    'Maximum likelihood estimate of the true count, between 0 and the number of rows; for display, not for sums.';

-- priv.reconstructed_stderr(release, column, value [, weight := scale]) -> DOUBLE, an aggregate
--
-- Estimates the standard error of priv.reconstructed_count with the same arguments: the spread of the estimate over the
-- noise alone, with the source as it is.
--
--   SELECT priv.reconstructed_stderr('patients', noisy_disease, 'flu') FROM patients;

CREATE OR REPLACE MACRO priv.reconstructed_stderr(_release, _column, _value, weight := NULL) AS
    CASE WHEN @right@ THEN sqrt(greatest(@variance@, 0)) END;

COMMENT ON MACRO priv.reconstructed_stderr IS
    'Standard error of priv.reconstructed_count with the same arguments.';

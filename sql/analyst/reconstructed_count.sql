-- priv.reconstructed_count(release, column, value [, weight := scale]) -> DOUBLE, an aggregate
--
-- Estimates how many of the source records behind the rows at hand truly have the value. The estimate
-- is unbiased, so it may be negative or exceed the number of rows; sums and differences of estimates
-- stay unbiased. Choose rows by public columns only, and give the noisy column itself: its type, an ENUM of the domain, tells it
-- from others, which are an error. The value has the type of the attribute: 5, DATE '2020-01-01', true. A weight is the column scale, never a constant. Rows that were chosen by what they report are an error
-- where there are so many that no choice by public columns gives them, but for once in a thousand million. The release is named 'release', or
-- 'release.attribute' where it has several sensitive attributes. NULL asks for the missing value.
-- An unknown release or value is an error that says what exists.
--
--   SELECT gender, priv.reconstructed_count('patients', noisy_disease, 'flu')
--   FROM patients WHERE age > 30 GROUP BY gender;

CREATE OR REPLACE MACRO priv.reconstructed_count(_release, _column, _value, weight := NULL) AS
    CASE WHEN @right@ THEN @estimate@ END;

COMMENT ON MACRO priv.reconstructed_count IS
    'Unbiased estimate of how many source records truly have the value: SELECT priv.reconstructed_count(''release'', column, ''value'') FROM release.';

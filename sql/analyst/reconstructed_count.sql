-- priv.reconstructed_count(release, column, value [, weight := scale]) -> DOUBLE, an aggregate
--
-- Estimates how many of the source records of the chosen rows truly have the value. The estimate is unbiased, so it may be
-- negative or exceed the number of rows; sums and differences of estimates are unbiased, too. Choose rows by public columns
-- only. Give the noisy column itself: its type is an ENUM of the domain, and a column of another type is an error. The value
-- has the type of the attribute: 5, DATE '2020-01-01', true. A weight is the column scale, never a constant. Rows that were
-- chosen by their noisy values are an error if there are so many that a choice by public columns would give them once in a
-- thousand million times. Name the release 'release', or 'release.attribute' if it has several sensitive attributes. NULL is
-- the missing value. An unknown release or value is an error that says what exists.
--
--   SELECT gender, priv.reconstructed_count('patients', noisy_disease, 'flu')
--   FROM patients WHERE age > 30 GROUP BY gender;

CREATE OR REPLACE MACRO priv.reconstructed_count(_release, _column, _value, weight := NULL) AS
    CASE WHEN @right@ THEN @estimate@ END;

COMMENT ON MACRO priv.reconstructed_count IS
    'Unbiased estimate of how many source records truly have the value: SELECT priv.reconstructed_count(''release'', column, ''value'') FROM release.';

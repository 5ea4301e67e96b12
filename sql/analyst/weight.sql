-- priv.weight(release, column, value [, weight := scale]) -> DOUBLE, per row
--
-- What the row adds to priv.reconstructed_count. Sums of weights answer lists of values; products of the weights of several
-- sensitive attributes, summed, answer predicates over all of them. If the scale says how strongly records are perturbed, it
-- is needed: weight := scale. If rows represent several records, multiply by scale.
--
--   SELECT sum(priv.weight('survey.occupation', noisy_occupation, '7') * priv.weight('survey.income', noisy_income, 'high'))
--   FROM survey;

CREATE OR REPLACE MACRO priv.weight(_release, _column, _value, weight := NULL) AS
    CASE WHEN @known_row@ THEN @row_weight@ ELSE [error(_priv_text) FOR _priv_text IN [@mistake_row@]][1] END;

COMMENT ON MACRO priv.weight IS
    'What a row adds to priv.reconstructed_count; multiply over attributes, add over values, then sum.';

-- priv.laplace_count(n, epsilon [, population := 'main']) -> BIGINT
--
-- A count with discrete Laplace noise, exactly distributed: an epsilon-differentially private answer to a question whose
-- true answer changes by at most 1 when one record comes or goes. The noise is fresh at every call, for every row. Each
-- answer costs its epsilon, and is in priv.ledger() before it is returned, under the population whose records were counted.
--
--   SELECT priv.laplace_count(1000, 0.1);

CREATE OR REPLACE MACRO priv.laplace_count(n, epsilon, population := 'main') AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_laplace_count(TRY_CAST(n AS BIGINT), TRY_CAST(epsilon AS DOUBLE), population::VARCHAR, current_database())]][1];

COMMENT ON MACRO priv.laplace_count IS
    'A count with exactly distributed discrete Laplace noise: an epsilon-differentially private answer.';

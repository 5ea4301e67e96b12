-- priv.shuffled_epsilon(retention, domain_size, group_size, delta) -> DOUBLE
--
-- The epsilon, at the given delta, of a sensitive value that is perturbed with this retention and published among group_size
-- records with equal public attributes, in an order that says nothing. It holds against someone who knows the true values of
-- all the others, and never exceeds the local epsilon (priv.ldp_epsilon), which is that of a group of one. Balle, Bell,
-- Gascon, Nissim (CRYPTO 2019), lemma 5.3, evaluated.
--
--   SELECT priv.shuffled_epsilon(0.5, 50, 1000, 1e-6);

CREATE OR REPLACE MACRO priv.shuffled_epsilon(retention, domain_size, group_size, delta) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate(
        'shuffled_epsilon', [TRY_CAST(retention AS DOUBLE), TRY_CAST(domain_size AS DOUBLE), TRY_CAST(group_size AS DOUBLE), TRY_CAST(delta AS DOUBLE)])]][1];

COMMENT ON MACRO priv.shuffled_epsilon IS
    'Epsilon, at the given delta, of a perturbed value that is published in a shuffled group of this size.';

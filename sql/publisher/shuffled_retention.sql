-- priv.shuffled_retention(epsilon, delta, domain_size, group_size) -> DOUBLE
--
-- The largest retention of uniform perturbation with which a sensitive value in a group of group_size records with equal
-- public attributes is (epsilon, delta)-private, thanks to the other records of the group: the inverse of
-- priv.shuffled_epsilon, rounded towards more noise. Never below the retention of a local epsilon.
--
--   SELECT group_size, priv.shuffled_retention(1.0, 1e-6, 50, group_size) FROM unnest([1, 100, 10_000]) AS t(group_size);

CREATE OR REPLACE MACRO priv.shuffled_retention(epsilon, delta, domain_size, group_size) AS
    [CASE WHEN answer.mistake IS NULL THEN answer.value ELSE error(answer.mistake) END
     FOR answer IN [_priv_calculate(
        'shuffled_retention', [TRY_CAST(epsilon AS DOUBLE), TRY_CAST(delta AS DOUBLE), TRY_CAST(domain_size AS DOUBLE), TRY_CAST(group_size AS DOUBLE)])]][1];

COMMENT ON MACRO priv.shuffled_retention IS
    'Largest retention with which a value in a shuffled group of this size is (epsilon, delta)-private.';

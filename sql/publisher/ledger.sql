-- FROM priv.ledger([slack := 1e-6] [, details := false])
--   -> population, release, attribute, epsilon, adds, total
--
-- Lists what has been published of which population, oldest first: what each publication adds, and the total. Within a
-- population everything adds: attributes, releases, mechanisms, counts that priv.laplace_count answered, and noisy counts of
-- the records that a release leaves out. Less is charged only if that is proven. A record with the same id and true value
-- shows the same value if nothing that defines its noise has changed, so it adds nothing. A corrected value is a second look
-- at its record. New records cost the others nothing, as long as few ids are new at a time. Names of tables and copies make
-- no difference. epsilon is that of one record. adds and total are epsilons, too: of one person with all their records if
-- publications name people, else of one record. They are infinite from the first publication that has no epsilon.
--
-- details := true adds reason (why it adds, or why not), delta of one record, mechanism, parameters, coins (a fingerprint of
-- what defines the noise), source, source_version (of a lakehouse), record_id, fresh, published_at, records, new_records, changed and persons. It also adds
-- running totals: epsilon_attribute of the attribute; epsilon_record and delta_record of whole records; epsilon_person and
-- delta_person of one person, all records together. The latter are NULL as long as no publication named people, and infinite
-- if one that adds did not. epsilon_advanced with delta_advanced = delta_record + slack holds as well. It is smaller for
-- many releases of small epsilon, if their parameters were fixed beforehand (Dwork, Rothblum, Vadhan 2010). A promise about
-- all sensitive values of a record together, as of shuffled groups, is charged once, in its first row. Some mechanisms
-- (safe_k) protect whole records, others only their sensitive values. If both have published of one population, there is no
-- total for whole records, and warning says so. warning also says if records show that they changed.
--
--   SELECT population, max(total) FROM priv.ledger() GROUP BY population;

CREATE OR REPLACE MACRO priv.ledger(slack := 1e-6, details := false) AS TABLE
WITH marked AS (
    FROM priv.ledger UNION ALL BY NAME
    SELECT population, release, '*' AS attribute, 'laplace_count' AS mechanism,
        to_json({'epsilon': asked.epsilon, 'calls': calls})::VARCHAR AS parameters, asked.epsilon * calls AS epsilon,
        0.0::DOUBLE AS delta, coins IS NULL AS fresh, coins, asked_at AS published_at, true AS adds,
        CASE WHEN release IS NULL THEN 'counts with noise' ELSE 'noisy counts of the records left out' END AS reason,
        person_rows, person_rows AS person_adds
    FROM priv.noisy_count AS asked
), charged AS (
    SELECT *, adds AND (NOT list_contains(@of_all_values@, mechanism) OR number = min(number) FILTER (adds) OVER publication)
            AS adds_to_record,
        CASE WHEN person_rows IS NULL THEN NULL
            WHEN NOT list_contains(@of_all_values@, mechanism)
                OR number = min(number) FILTER (person_adds > 0) OVER publication THEN person_adds
            ELSE 0 END AS draws_of_person
    FROM marked WINDOW publication AS (PARTITION BY population, release, published_at)
), priced AS (
    SELECT *, CASE WHEN draws_of_person IS NULL THEN CASE WHEN adds_to_record THEN 'inf'::DOUBLE ELSE 0 END
            WHEN draws_of_person = 0 THEN 0
            ELSE coalesce(draws_of_person * epsilon, 'inf'::DOUBLE) END AS price_of_person,
        CASE WHEN draws_of_person IS NULL THEN CASE WHEN adds_to_record AND delta > 0 THEN 1 ELSE 0 END
            WHEN draws_of_person = 0 OR delta = 0 THEN 0
            ELSE coalesce(delta * CASE WHEN epsilon > 0 THEN (exp(least(draws_of_person * epsilon, 700)) - 1) / (exp(epsilon) - 1)
                ELSE draws_of_person END, 1) END AS risk_of_person,
        CASE WHEN adds THEN coalesce(epsilon, 'inf'::DOUBLE) ELSE 0 END AS price_of_value,
        CASE WHEN adds_to_record THEN coalesce(epsilon, 'inf'::DOUBLE) ELSE 0 END AS price,
        CASE WHEN adds_to_record THEN delta ELSE 0 END AS risk,
        -- A count hides whole records and their values.
        CASE WHEN mechanism <> 'laplace_count' THEN list_contains(@of_whole_records@, mechanism) END AS of_records
    FROM charged
), summed AS (
    SELECT *, sum(price_of_value) OVER (PARTITION BY population, lower(attribute) ORDER BY published_at ASC NULLS LAST, number ASC NULLS LAST)
            AS prices_of_values,
        sum(price) OVER so_far AS prices, sum(risk) OVER so_far AS risks, sum(price ** 2) OVER so_far AS squares,
        sum(CASE WHEN price < 700 THEN price * (exp(price) - 1) ELSE 'inf'::DOUBLE END) OVER so_far AS drift,
        bool_or(of_records) OVER so_far AND NOT bool_and(of_records) OVER so_far AS mixed,
        count(persons) OVER so_far > 0 AS of_persons, sum(price_of_person) OVER so_far AS prices_of_persons,
        sum(risk_of_person) OVER so_far AS risks_of_persons
    FROM priced WINDOW so_far AS (PARTITION BY population ORDER BY published_at ASC NULLS LAST, number ASC NULLS LAST)
)
SELECT COLUMNS(lambda name: coalesce(TRY_CAST(details::VARCHAR AS BOOLEAN), false)
    OR name IN ('population', 'release', 'attribute', 'epsilon', 'adds', 'total'))
FROM (
    SELECT population, release, attribute,
        CASE WHEN TRY_CAST(details::VARCHAR AS BOOLEAN) THEN epsilon ELSE round(epsilon, 9) END AS epsilon,
        round(CASE WHEN of_persons THEN price_of_person ELSE price END, 9) AS adds,
        round(CASE WHEN mixed THEN 'inf'::DOUBLE WHEN of_persons THEN prices_of_persons ELSE prices END, 9) AS total,
        reason, delta, mechanism, parameters, coins, source, source_version, record_id, fresh, published_at, records, new_records, changed,
        persons, prices_of_values AS epsilon_attribute,
        CASE WHEN mixed THEN 'inf'::DOUBLE ELSE prices END AS epsilon_record,
        least(risks, 1) AS delta_record,
        CASE WHEN NOT of_persons THEN NULL WHEN mixed THEN 'inf'::DOUBLE ELSE prices_of_persons END AS epsilon_person,
        CASE WHEN of_persons THEN least(risks_of_persons, 1) END AS delta_person,
        CASE WHEN mixed THEN 'inf'::DOUBLE
            ELSE sqrt(-2 * TRY(ln(TRY_CAST(slack AS DOUBLE))) * squares) + drift END AS epsilon_advanced,
        least(risks + TRY_CAST(slack AS DOUBLE), 1) AS delta_advanced,
        nullif(concat_ws('; ',
            CASE WHEN mixed THEN 'also published without differential privacy of whole records: nothing holds for them in total' END,
            CASE WHEN changed > 0 THEN changed || if(changed = 1, ' record shows', ' records show')
                || ' another value than before with the same noise: someone who has both'
                || ' releases knows with certainty that they changed' END
        ), '') AS warning
    FROM summed ORDER BY population ASC NULLS LAST, published_at ASC NULLS LAST, number ASC NULLS LAST
)
WHERE CASE WHEN details IS NOT NULL AND TRY_CAST(details::VARCHAR AS BOOLEAN) IS NULL
        THEN error('details must be true or false' || chr(10) || 'Hint: write details := true')
    WHEN NOT coalesce(TRY_CAST(slack AS DOUBLE) > 0 AND TRY_CAST(slack AS DOUBLE) < 1, false)
        THEN error('slack must lie strictly between 0 and 1, got ' || left(coalesce(slack::VARCHAR, 'NULL'), 100)
            || chr(10) || 'Hint: it is added to delta; 1e-6 is a usual value')
    ELSE true END;

COMMENT ON MACRO TABLE priv.ledger IS
    'What has been published of which population, and what it adds up to.';

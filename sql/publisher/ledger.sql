-- FROM priv.ledger([slack := 1e-6])
--   -> source, attribute, release, mechanism, parameters, epsilon, delta, fresh, published_at, adds,
--      epsilon_attribute, epsilon_source, delta_source, epsilon_advanced, delta_advanced, reason, warning,
--      population, attribute_number, records, seen, changed, persons, persons_seen, epsilon_person, delta_person
--
-- What has been released from which source, oldest first. A publication adds to what is known about the records unless
-- they show the same values as in an earlier one: its coins were keyed and used before, under the same ids. Sources that share
-- records, or tables, are of one population, whatever they are called: a copy, a renamed table, file or column, a filter, a table
-- with other records besides. All totals are those of the
-- population; attribute_number is the same for an attribute that was renamed, or whose values were. records is how many the source had, seen about how
-- many of them had been published before (NULL where ids do not tell), changed about how many show another value than an earlier
-- publication with the same coins did: who has both knows that their true values changed.
-- epsilon_person and delta_person are running totals of what is known of one person, all records together, over the
-- population: every publication with epsilon times the most records that a person has in it. They are NULL as long as no
-- publication named persons, and infinite where one that adds did not. persons is how many there are, persons_seen about how
-- many of them had records published before, whatever the ids of those records (of a source without named persons: of its
-- records, as far as their ids are those of persons elsewhere).
-- epsilon_attribute and epsilon_source are running totals (basic composition), for the attribute and for whole
-- records, with delta_source; they are infinite from the first publication that has no epsilon. What a publication promises
-- of all sensitive values of a record together, as one of shuffled groups does, is charged once in the totals for whole records
-- and persons, in its first row that adds, and in those of each of its attributes.
-- epsilon_advanced with delta_advanced = delta_source + slack is true as well, and the smaller of the two may be taken:
-- less for many releases of small epsilon, if their parameters were fixed beforehand (Dwork, Rothblum, Vadhan 2010).
-- A count that priv.laplace_count answered has no release, and adds to the total of every source; of a person it is not known
-- how many records were counted.
-- reason says, of a publication in groups, why its records are not published in others, or why they were nevertheless.
-- Some mechanisms (safe_k) protect whole records, others only their sensitive values: where both have published from
-- one source, no total for whole records is left, and warning says so. It also says what comparing releases tells: that records
-- changed, or that all were drawn anew, as with a value that is new to a domain that was not declared.
--
--   SELECT source, max(epsilon_source) FROM priv.ledger() GROUP BY source;

CREATE OR REPLACE MACRO priv.ledger(slack := 1e-6) AS TABLE
WITH published AS (
    SELECT entry.*, coalesce('population ' || known.population, entry.origins[1]) AS population
    FROM priv.ledger AS entry LEFT JOIN priv.source AS known ON known.number = entry.source_number
), noisy_counts AS (
    SELECT ['every source'] AS origins, '*' AS attribute, 'laplace_count' AS mechanism,
        to_json({'epsilon': asked.epsilon, 'calls': calls})::VARCHAR AS parameters, asked.epsilon * calls AS epsilon,
        0.0::DOUBLE AS delta, true AS fresh, asked_at AS published_at, true AS adds,
        coalesce(charged.population, 'every source') AS population
    FROM priv.noisy_count AS asked LEFT JOIN (SELECT DISTINCT population FROM published) AS charged ON true
), marked AS (
    FROM published UNION ALL BY NAME FROM noisy_counts
), counted AS (
    SELECT *, coalesce(person_rows, max(person_rows) OVER (PARTITION BY source_number)) AS rows_of_person
    FROM marked
), charged AS (
    SELECT *, adds AND (apart OR row_number() OVER (PARTITION BY population, release, published_at, adds ORDER BY number ASC NULLS LAST) = 1)
            AS adds_to_record,
        person_adds AND (apart OR row_number() OVER (
                PARTITION BY population, release, published_at, person_adds ORDER BY number ASC NULLS LAST) = 1)
            AS adds_to_person
    FROM (SELECT *, NOT list_contains(@of_all_values@, mechanism) AS apart FROM counted)
), priced AS (
    SELECT *, CASE WHEN NOT adds_to_person THEN 0
            ELSE coalesce(rows_of_person * epsilon, 'inf'::DOUBLE) END AS price_of_person,
        CASE WHEN NOT adds_to_person OR delta = 0 THEN 0
            ELSE coalesce(delta * CASE WHEN epsilon > 0 THEN (exp(least(rows_of_person * epsilon, 700)) - 1) / (exp(epsilon) - 1)
                ELSE rows_of_person END, 1) END AS risk_of_person,
        CASE WHEN adds THEN coalesce(epsilon, 'inf'::DOUBLE) ELSE 0 END AS price_of_value,
        CASE WHEN adds_to_record THEN coalesce(epsilon, 'inf'::DOUBLE) ELSE 0 END AS price,
        CASE WHEN adds_to_record THEN delta ELSE 0 END AS risk,
        -- A count hides whole records and their values alike.
        CASE WHEN release IS NOT NULL THEN list_contains(@of_whole_records@, mechanism) END AS of_records
    FROM charged
), summed AS (
    SELECT *, sum(price_of_value) OVER (PARTITION BY population, attribute_number ORDER BY published_at ASC NULLS LAST, number ASC NULLS LAST)
            AS epsilon_attribute,
        sum(price) OVER so_far AS prices, sum(risk) OVER so_far AS risks, sum(price ** 2) OVER so_far AS squares,
        sum(CASE WHEN price < 700 THEN price * (exp(price) - 1) ELSE 'inf'::DOUBLE END) OVER so_far AS drift,
        list(coins) OVER (
            PARTITION BY population, attribute_number, mechanism ORDER BY number ASC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS earlier_coins,
        bool_or(of_records) OVER so_far AND NOT bool_and(of_records) OVER so_far AS mixed,
        count(persons) OVER so_far > 0 AS of_persons, sum(price_of_person) OVER so_far AS prices_of_persons,
        sum(risk_of_person) OVER so_far AS risks_of_persons
    FROM priced WINDOW so_far AS (PARTITION BY population ORDER BY published_at ASC NULLS LAST, number ASC NULLS LAST)
)
SELECT unnest(origins) AS source, attribute, release, mechanism, parameters, epsilon, delta, fresh, published_at, adds,
    epsilon_attribute,
    CASE WHEN mixed THEN 'inf'::DOUBLE ELSE prices END AS epsilon_source,
    least(risks, 1) AS delta_source,
    CASE WHEN NOT coalesce(TRY_CAST(slack AS DOUBLE) > 0 AND TRY_CAST(slack AS DOUBLE) < 1, false)
            THEN error('slack must lie strictly between 0 and 1, got ' || left(coalesce(slack::VARCHAR, 'NULL'), 100)
                || chr(10) || 'Hint: it is added to delta; 1e-6 is a usual value')
        WHEN mixed THEN 'inf'::DOUBLE
        ELSE sqrt(-2 * ln(TRY_CAST(slack AS DOUBLE)) * squares) + drift END AS epsilon_advanced,
    least(risks + TRY_CAST(slack AS DOUBLE), 1) AS delta_advanced,
    reason,
    nullif(concat_ws('; ',
        CASE WHEN mixed THEN 'also published without differential privacy of whole records: nothing holds for them in total' END,
        CASE WHEN changed > 0 THEN changed || ' records show another value than before with the same coins: who has both'
            || ' releases knows with certainty that they changed' END,
        CASE WHEN NOT fresh AND adds AND len(earlier_coins) > 0 AND NOT list_contains(earlier_coins, coins)
            THEN 'other coins than before (another domain, other parameters or ids): every record was drawn anew' END
    ), '') AS warning,
    population, attribute_number, records, seen, changed, persons, persons_seen,
    CASE WHEN NOT of_persons THEN NULL WHEN mixed THEN 'inf'::DOUBLE ELSE prices_of_persons END AS epsilon_person,
    CASE WHEN of_persons THEN least(risks_of_persons, 1) END AS delta_person
FROM summed ORDER BY population ASC NULLS LAST, published_at ASC NULLS LAST, number ASC NULLS LAST;

COMMENT ON MACRO TABLE priv.ledger IS
    'What has been released from which source, and what it adds up to.';

-- FROM priv."check"(source, sensitive := … [, record_id := …] [, exclude := […]] [, public := […]]
--   [, person := …] [, domain := …] [, retention := … | epsilon := … | rho1 := …, rho2 := …] [, certainty := 0.95])
--   -> severity, finding, columns, figure, statement, advice, basis
--
-- What would be wrong with publishing this, the worst first: public columns that tell a sensitive one (alone, two together,
-- or as a coarser form of it), identifiers, addresses, sentences and exact times among the public columns, records that are
-- alone with their public columns and the smallest sets of columns that make it so, several records of one person, missing and
-- repeated record ids, domains that are too large for the noise or disclose what occurs, and how values are stored.
-- severity: "refuse" stops every publish_… unless the columns are named in public := […], "warn" stands in its receipt, "note"
-- is told here alone. figure is the number that the statement speaks of, basis which records were looked at: suspects are looked
-- for in a sample and counted in the whole table. certainty is the posterior from which on a value counts as known.
-- Without a retention the smallest count is that of epsilon = 1. Reads true values: it is for the publisher.
-- DuckDB 2.0 reads the name only with the quotes: it takes the word for that of a constraint. priv.check_source is the same.
--
--   SELECT severity, finding, columns, figure FROM priv."check"('visits', sensitive := 'disease', record_id := 'id');

CREATE OR REPLACE MACRO priv.check(
    source, sensitive := NULL, record_id := NULL, exclude := NULL, public := NULL, person := NULL,
    domain := NULL, retention := NULL, epsilon := NULL, rho1 := NULL, rho2 := NULL, certainty := 0.95
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, sensitive: sensitive, record_id: record_id, exclude: exclude, public: public, person: person,
        domain: domain, retention: retention, epsilon: epsilon, rho1: rho1, rho2: rho2, certainty: certainty, @caller@
    })::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"severity": "VARCHAR", "finding": "VARCHAR", "columns": ["VARCHAR"],
    "figure": "DOUBLE", "statement": "VARCHAR", "advice": "VARCHAR", "basis": "VARCHAR"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.check IS
    'What would be wrong with publishing a source, the worst first: columns, figure, and what to do.';

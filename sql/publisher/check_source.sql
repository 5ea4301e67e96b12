-- FROM priv.check_source(source, sensitive := … [, record_id := …] [, exclude := […]] [, public := […]]
--   [, person := …] [, domain := …] [, retention := … | epsilon := … | rho1 := …, rho2 := …] [, certainty := 0.95]
--   [, details := false])
--   -> severity, columns, what, do; with details := true also finding, figure, basis
--
-- Lists what would be wrong with publishing this table, the worst first, and what to do. It finds public columns that
-- reveal a sensitive one (alone, two or three together, or as a coarser form of it), or are another copy of it. It finds
-- identifiers, addresses, sentences and exact times among the public columns, and records that are unique in their public
-- columns, with the smallest sets of columns that make them unique. It finds several records of one person, missing and
-- repeated record ids, ids that differ in case, blanks or leading zeros only, domains that are too large for the noise or
-- disclose what occurs, and problems of how values are stored. severity: a "blocker" stops every publish_… unless its
-- columns are named in public := […], a "warning" is in the receipt, and so is a "note" that publishing looks for, too.
-- finding is the short name of the kind, figure the number in the sentence, and basis the records that were examined:
-- suspects are searched for in a sample and counted in the whole table. certainty is the posterior above which a value
-- counts as known. Without a retention or an epsilon the smallest count is that of epsilon = 1. Reads true values: it is
-- for the publisher.
--
--   SELECT severity, columns, what FROM priv.check_source('visits', sensitive := 'disease', record_id := 'id');

CREATE OR REPLACE MACRO priv.check_source(
    source, sensitive := NULL, record_id := NULL, exclude := NULL, public := NULL, person := NULL,
    domain := NULL, retention := NULL, epsilon := NULL, rho1 := NULL, rho2 := NULL, certainty := 0.95, details := false
) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({
        source: source, sensitive: sensitive, record_id: record_id, exclude: exclude, public: public, person: person,
        domain: domain, retention: retention, epsilon: epsilon, rho1: rho1, rho2: rho2, certainty: certainty, @caller@
    })::VARCHAR AS arguments
), @ask@, found AS (
    SELECT unnest(from_json(answer, '[{"severity": "VARCHAR", "columns": ["VARCHAR"], "what": "VARCHAR", "do": "VARCHAR",
        "finding": "VARCHAR", "figure": "DOUBLE", "basis": "VARCHAR"}]'), recursive := true)
    FROM answered
)
SELECT COLUMNS(lambda name: coalesce(TRY_CAST(details::VARCHAR AS BOOLEAN), false)
    OR name IN ('severity', 'columns', 'what', 'do')) FROM found
WHERE CASE WHEN details IS NOT NULL AND TRY_CAST(details::VARCHAR AS BOOLEAN) IS NULL
    THEN error('details must be true or false' || chr(10) || 'Hint: write details := true') ELSE true END;

COMMENT ON MACRO TABLE priv.check_source IS
    'What would be wrong with publishing a source, the worst first: severity, columns, what, and what to do.';

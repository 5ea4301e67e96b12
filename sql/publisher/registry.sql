-- FROM priv.registry(release)
--   -> release, title, description, contact, licence, population, version, published_at, rows_published, method, parameters,
--      unit_of_privacy, neighbouring_relation, protects_against, epsilon, delta, population_epsilon, population_delta,
--      guarantees, not_protected, impact_assessment, library
--
-- Describes a release in one row, as a public registry of privacy-preserving releases asks for it. unit_of_privacy is what
-- epsilon and delta are of: a person where the publication names people, else a record or one of its values. Two tables are
-- neighbours if they differ as neighbouring_relation says. epsilon is NULL where the method has none. population_epsilon and
-- population_delta are the total of all that was published of the population, as priv.budget says it. not_protected lists what
-- the release does not hide, a sentence each.
--
-- impact_assessment is a text of paragraphs that a data protection impact assessment asks for: what is published, why, measures,
-- risks that remain, over time, rights of the people. The purpose is yours to add.
--
-- Everything is read from the catalog and the ledger: no table of records, and nothing that was computed from true counts.
-- duckdb-priv registry FILE prints the same.
--
--   SELECT unit_of_privacy, epsilon, neighbouring_relation, not_protected FROM priv.registry('visits_public');

CREATE OR REPLACE MACRO priv.registry(release) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({release: release, @caller@})::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"release": "VARCHAR", "title": "VARCHAR", "description": "VARCHAR", "contact": "VARCHAR",
    "licence": "VARCHAR", "population": "VARCHAR", "version": "INTEGER", "published_at": "TIMESTAMP", "rows_published": "BIGINT",
    "method": "VARCHAR", "parameters": "VARCHAR", "unit_of_privacy": "VARCHAR", "neighbouring_relation": "VARCHAR",
    "protects_against": "VARCHAR", "epsilon": "DOUBLE", "delta": "DOUBLE", "population_epsilon": "DOUBLE",
    "population_delta": "DOUBLE", "guarantees": ["VARCHAR"], "not_protected": ["VARCHAR"], "impact_assessment": "VARCHAR",
    "library": "VARCHAR"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.registry IS
    'Describe a release in one row for a public registry, with the paragraphs of an impact assessment.';

-- FROM priv.audit(release) -> attribute, guarantee, statement, parameters, value, holds, unit
--
-- Recomputes what a release claims, from its stored operator and from the source as it is now. holds is true or false for a
-- claim, and NULL for a row that is only information; unit is the unit of value. The first row is the verdict: holds is true
-- if all claims hold, the statement says it in words, value is how many claims do not hold, and the parameters count them.
-- For the publisher: it shows true frequencies.
--
--   SELECT guarantee, value, holds FROM priv.audit('visits_public');

CREATE OR REPLACE MACRO priv.audit(release) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({release: release, @caller@})::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"attribute": "VARCHAR", "guarantee": "VARCHAR", "statement": "VARCHAR",
    "parameters": "VARCHAR", "value": "DOUBLE", "holds": "BOOLEAN", "unit": "VARCHAR"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.audit IS
    'Recompute every guarantee that a release claims, from its operator and the source.';

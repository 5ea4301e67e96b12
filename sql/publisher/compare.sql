-- FROM priv.compare(release, older) -> attribute, finding, statement, value
--
-- What somebody learns who holds a release and an older version of it, a file that was handed out: how many rows stand in
-- both, how many records can be followed since they are alone with their public columns, how many of them are seen to have
-- changed, what may be believed of the true value of such a record after both versions by who knows the true frequencies as they
-- are now (and believes that a new value is drawn as they say), how much that is more than after one, and the epsilon of
-- both together. Where the coins are others, both are looks at every record. For the publisher: it speaks of true frequencies.
--
--   FROM priv.compare('visits_public', 'visits_public.duckdb');

CREATE OR REPLACE MACRO priv.compare(release, older) AS TABLE
WITH call AS MATERIALIZED (
    SELECT to_json({release: release, older: older, @caller@})::VARCHAR AS arguments
), @ask@
SELECT unnest(from_json(answer, '[{"attribute": "VARCHAR", "finding": "VARCHAR", "statement": "VARCHAR",
    "value": "DOUBLE"}]'), recursive := true)
FROM answered;

COMMENT ON MACRO TABLE priv.compare IS
    'What somebody learns who holds a release and an older version of it.';

-- FROM priv.compare(release, older) -> attribute, finding, statement, value
--
-- What someone learns who has a release and an older version of it, a file that was handed out. It counts the rows that are
-- in both, the records that can be followed because they are unique in their public columns, and how many of these are seen
-- to have changed. It computes the posterior of the true value of such a record after both versions, how much higher it is
-- than after one, and the epsilon of both together. The posterior is that of someone who knows the true frequencies as they
-- are now, and assumes that a new value is drawn from them. If the noise differs, both versions are looks at every record.
-- For the publisher: it shows true frequencies.
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
    'What someone learns who has a release and an older version of it.';

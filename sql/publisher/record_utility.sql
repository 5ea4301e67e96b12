-- priv.record_utility(release) -> DOUBLE
--
-- The share of records that the release was expected to publish with their true value: the mean over the records of the
-- source of the probability that the true value is shown. The source must still exist. Name an attribute of several as
-- 'release.attribute'. For the publisher: it shows true frequencies.
--
--   SELECT priv.record_utility('visits_public');

CREATE OR REPLACE MACRO priv.record_utility(release) AS
    [@number@ FOR arguments IN [to_json({release: release, @caller@})::VARCHAR]][1];

COMMENT ON MACRO priv.record_utility IS
    'Expected share of the records that are published with their true value.';

-- priv.expected_error(source, release [, questions := 'ranges'] [, hierarchies := 'table']) -> DOUBLE
--
-- The expected error of the frequencies that a release reconstructs: the mean over the values of the standard error of the
-- frequency in the whole source. It is computed from the law of the release and the true counts, for every method. Smaller is better;
-- it is infinite where a count has no estimate, and 0 where the whole histogram is published as it is. Name an attribute
-- of several as 'release.attribute'. For the publisher: it is computed from true frequencies. With questions := 'ranges',
-- 'prefixes', 'mean', 'values', or the name of a table with the columns low, high and weight, it is the root mean square of
-- the errors of these answers, as shares of the records; for a mean the unit is the distance of the smallest and the largest
-- value. A release of generalized values needs the hierarchies that it was published with; its error includes what is lost with small groups.
--
--   SELECT priv.expected_error('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.expected_error(source, release, questions := NULL, hierarchies := NULL) AS
    [@number@ FOR arguments IN [to_json({source: source, release: release, questions: questions, hierarchies: hierarchies, @caller@})::VARCHAR]][1];

COMMENT ON MACRO priv.expected_error IS
    'Mean standard error of the frequencies that a release reconstructs; smaller is better.';

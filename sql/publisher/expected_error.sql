-- priv.expected_error(source, release [, questions := 'ranges']) -> DOUBLE
--
-- How far the frequencies that the release reconstructs are off: the mean over the values of the standard
-- error of the frequency in the whole source, by the perturbation alone. Smaller is better; infinite where some
-- values cannot be told apart. A release with several sensitive attributes is named 'release.attribute'. For the
-- publisher: it is computed from true frequencies. With questions := 'ranges', 'prefixes', 'mean', 'values', or the name of a
-- table with the columns low, high and weight, it is the root mean square of the standard errors of these answers, as
-- shares of the records; that of a mean in units of the distance of the least and the largest value.
--
--   SELECT priv.expected_error('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.expected_error(source, release, questions := NULL) AS
    [@number@ FOR arguments IN [to_json({source: source, release: release, questions: questions, @caller@})::VARCHAR]][1];

COMMENT ON MACRO priv.expected_error IS
    'Mean standard error of the frequencies that a release reconstructs; smaller is better.';

-- priv.expected_error(source, release [, questions := 'ranges']) -> DOUBLE
--
-- The expected error of the reconstructed frequencies: the mean over the values of the standard error of the frequency in
-- the whole source, from the perturbation alone. Smaller is better; it is infinite if some values cannot be distinguished.
-- Name an attribute of several as 'release.attribute'. For the publisher: it is computed from true frequencies. With
-- questions := 'ranges', 'prefixes', 'mean', 'values', or the name of a table with the columns low, high and weight, it is
-- the root mean square of the standard errors of these answers, as shares of the records; for a mean the unit is the
-- distance of the smallest and the largest value.
--
--   SELECT priv.expected_error('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.expected_error(source, release, questions := NULL) AS
    [@number@ FOR arguments IN [to_json({source: source, release: release, questions: questions, @caller@})::VARCHAR]][1];

COMMENT ON MACRO priv.expected_error IS
    'Mean standard error of the frequencies that a release reconstructs; smaller is better.';

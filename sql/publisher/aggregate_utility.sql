-- priv.aggregate_utility(source, release) -> DOUBLE
--
-- How close the reconstructed frequencies of a release are to the true ones: 1 minus the mean over the values of abs(f -
-- f'). f is the frequency in the source and f' the one that this release reconstructs. The result is at most 1, and larger
-- is better; it is minus infinity if some values cannot be distinguished. Name an attribute of several as
-- 'release.attribute'. For the publisher: it is computed from true frequencies. Chaytor, Wang, "Fine grain perturbation for
-- privacy preserving data publishing".
--
--   SELECT priv.aggregate_utility('visits', 'visits_public');

CREATE OR REPLACE MACRO priv.aggregate_utility(source, release) AS
    [@number@ FOR arguments IN [to_json({source: source, release: release, @caller@})::VARCHAR]][1];

COMMENT ON MACRO priv.aggregate_utility IS
    'How close the frequencies that a release gives back are to the true ones: 1 minus their mean distance.';

-- Every perturbed record as often as it is to appear, and how often that is at most: the published size of its group
-- over the public sample size.
SELECT * EXCLUDE (scale, _priv_copy), greatest(count(*) OVER (@partition@) / @sample_size@::DOUBLE, 1) AS scale
FROM (SELECT *, unnest(range(scale)) AS _priv_copy FROM (@perturbed@))

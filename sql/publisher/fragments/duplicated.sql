-- Every perturbed record as often as it is to appear, and how often the records of its group do on average.
SELECT * EXCLUDE (scale, _priv_copy), count(*) OVER (@partition@) / (count_if(_priv_copy = 0) OVER (@partition@))::DOUBLE AS scale
FROM (SELECT *, unnest(range(scale)) AS _priv_copy FROM (@perturbed@))

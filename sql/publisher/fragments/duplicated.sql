-- The copies of every perturbed record, and the average number of copies of a record of its group.
SELECT * EXCLUDE (scale, _priv_copy), count(*) OVER (@partition@) / (count_if(_priv_copy = 0) OVER (@partition@))::DOUBLE AS scale
FROM (SELECT *, unnest(range(scale)) AS _priv_copy FROM (@perturbed@))

-- priv.coefficient has what intervals need to know of the whole release. Of what was published before nothing is added.
CREATE TEMP TABLE _priv_coefficient AS FROM priv.coefficient;
DROP TABLE priv.coefficient;
@coefficient@
INSERT INTO priv.coefficient BY NAME FROM _priv_coefficient;
UPDATE priv.coefficient SET scatter = 0, most_scatter = 0, upward = 0, downward = 0 WHERE slope IS NOT NULL;
DROP TABLE temp.main._priv_coefficient;

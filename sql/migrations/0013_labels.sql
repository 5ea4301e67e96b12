-- Codes have labels. Of what was published before, none are known.
CREATE TEMP TABLE _priv_attribute AS FROM priv.attribute;
DROP TABLE priv.attribute;
@attribute@
INSERT INTO priv.attribute BY NAME FROM _priv_attribute;
DROP TABLE temp.main._priv_attribute;

-- priv.attribute says which blocks of values records report, where they report blocks. What was published before reports none.
CREATE TEMP TABLE _priv_attribute AS FROM priv.attribute;
DROP TABLE priv.attribute;
@attribute@
INSERT INTO priv.attribute BY NAME FROM _priv_attribute;
DROP TABLE temp.main._priv_attribute;

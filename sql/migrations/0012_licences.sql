-- Releases have a licence, and their columns the descriptions of the source. Of what was published before, nothing is known.
CREATE TEMP TABLE _priv_release AS FROM priv.release;
DROP TABLE priv.release;
@release@
INSERT INTO priv.release BY NAME FROM _priv_release;
DROP TABLE temp.main._priv_release;
CREATE TEMP TABLE _priv_attribute AS FROM priv.attribute;
DROP TABLE priv.attribute;
@attribute@
INSERT INTO priv.attribute BY NAME FROM _priv_attribute;
DROP TABLE temp.main._priv_attribute;

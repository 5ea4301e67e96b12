-- priv.attribute says under which name each attribute is published. What was published before stands under its own.
CREATE TEMP TABLE _priv_attribute AS FROM priv.attribute;
DROP TABLE priv.attribute;
@attribute@
INSERT INTO priv.attribute (release, attribute, role, type, domain_size, form, column_name)
SELECT release, attribute, role, type, domain_size, form, attribute FROM _priv_attribute;
DROP TABLE temp.main._priv_attribute;

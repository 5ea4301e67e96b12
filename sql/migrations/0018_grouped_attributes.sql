-- The attributes that records are grouped by are numbered: a text beside each of millions of records takes most of the time.
CREATE TEMP TABLE _priv_grouped AS SELECT attribute::VARCHAR AS name, mark FROM priv.grouped_record;
DROP TABLE priv.grouped_record;
@grouped_record@
@grouped_attribute@
INSERT INTO priv.grouped_attribute
    SELECT row_number() OVER (ORDER BY name), name FROM (SELECT DISTINCT name FROM _priv_grouped);
INSERT INTO priv.grouped_record SELECT number, mark FROM _priv_grouped JOIN priv.grouped_attribute USING (name);
DROP TABLE temp.main._priv_grouped;

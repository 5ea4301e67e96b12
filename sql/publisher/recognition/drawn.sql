-- What was not drawn yet with the same coins: records with their values.
CREATE OR REPLACE TEMP TABLE _priv_drawn AS
SELECT mark, shown[@number@] AS value FROM _priv_record
EXCEPT
SELECT mark, value FROM priv.drawn JOIN priv.source AS known ON known.number = source
WHERE coins = ? AND population = @population@

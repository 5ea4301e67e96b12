-- It is known how many records moved to other public values. Of what was published before, it is not.
@placement@
CREATE TEMP TABLE _priv_release AS FROM priv.release;
DROP TABLE priv.release;
@release@
INSERT INTO priv.release BY NAME FROM _priv_release;
DROP TABLE temp.main._priv_release;

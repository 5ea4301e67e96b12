-- It is known whose records were drawn. Of what was published before, it is not.
CREATE TEMP TABLE _priv_kept AS FROM priv.drawn;
DROP TABLE priv.drawn;
@drawn@
INSERT INTO priv.drawn BY NAME FROM _priv_kept;
DROP TABLE temp.main._priv_kept;

-- priv.release says what a release is about and whom to ask, and priv.warning keeps what its publisher was warned of.
CREATE TEMP TABLE _priv_release AS FROM priv.release;
DROP TABLE priv.release;
@release@
INSERT INTO priv.release BY NAME FROM _priv_release;
DROP TABLE temp.main._priv_release;
@warning@

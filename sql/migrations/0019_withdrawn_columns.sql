-- Who was withdrawn is known by the columns of the id. Before, it was asked for in those of each release.
CREATE TEMP TABLE _priv_withdrawn AS SELECT origins, kind, mark, withdrawn_at FROM priv.withdrawn;
DROP TABLE priv.withdrawn;
@withdrawn@
INSERT INTO priv.withdrawn SELECT origins, kind, NULL, mark, withdrawn_at FROM _priv_withdrawn;
DROP TABLE temp.main._priv_withdrawn;

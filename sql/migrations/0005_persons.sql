-- priv.ledger adds up by persons as well. Of what was published before, it is not known whose records they were.
CREATE TEMP TABLE _priv_ledger AS FROM priv.ledger;
DROP TABLE priv.ledger;
@ledger@
INSERT INTO priv.ledger BY NAME FROM _priv_ledger;
DROP TABLE temp.main._priv_ledger;

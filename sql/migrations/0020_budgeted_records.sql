-- A budget is kept with what the records hold, so that their table is known again under another name. Of those stated before it is not.
CREATE TEMP TABLE _priv_budget AS SELECT source, origins, epsilon, delta, stated_at FROM priv.budget;
DROP TABLE priv.budget;
@budget@
INSERT INTO priv.budget SELECT source, origins, [], NULL, NULL, epsilon, delta, stated_at FROM _priv_budget;
DROP TABLE temp.main._priv_budget;

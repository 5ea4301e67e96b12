-- Sources are recognized by what they hold. What was published before adds up by the names of its tables; marks of records in
-- groups stay, so that these are refused another group of the same method from the same tables.
@identity@
@source@
@fingerprint@
@value_fingerprint@
CREATE TEMP TABLE _priv_ledger AS FROM priv.ledger;
DROP TABLE priv.ledger;
@ledger@
INSERT INTO priv.ledger BY NAME
SELECT number, release, source, origins, record_id, attribute, mechanism, parameters, epsilon, delta, fresh, coins, reason,
    published_at, row_number() OVER (PARTITION BY origins, attribute, coins, record_id ORDER BY number) = 1 AS adds,
    min(number) OVER (PARTITION BY origins, lower(attribute)) AS attribute_number
FROM _priv_ledger;
DROP TABLE temp.main._priv_ledger;

-- What records of decoy groups show is kept as pairs of values, each once, and by record the number of its pair.
CREATE TEMP TABLE _priv_shown AS
    SELECT *, dense_rank() OVER (ORDER BY release, attribute, value, shown) AS pair FROM priv.shown_record;
DROP TABLE priv.shown_record;
@shown_record@
@shown_pair@
INSERT INTO priv.shown_pair SELECT DISTINCT pair, release, attribute, value, shown FROM _priv_shown;
INSERT INTO priv.shown_record SELECT mark, pair FROM _priv_shown;
DROP TABLE temp.main._priv_shown;

-- A source goes on: it keeps every record that it ever had, and of each the latest values.
INSERT INTO priv.fingerprint
SELECT @number@, 'id', level, mark FROM _priv_record
ANTI JOIN (SELECT mark FROM priv.fingerprint WHERE source = @number@ AND kind = 'id') USING (mark);
INSERT INTO priv.fingerprint
SELECT @number@, 'content', level, mark FROM _priv_content
ANTI JOIN (SELECT mark FROM priv.fingerprint WHERE source = @number@ AND kind = 'content') USING (mark);
INSERT INTO priv.fingerprint
SELECT @number@, 'person', level, mark FROM _priv_person
ANTI JOIN (SELECT mark FROM priv.fingerprint WHERE source = @number@ AND kind = 'person') USING (mark);
CREATE OR REPLACE TEMP TABLE _priv_value AS
SELECT unnest(@attributes@) AS attribute, mark, unnest(shown) AS value FROM _priv_record
UNION ALL
SELECT unnest(@others@) AS attribute, mark, unnest(others) AS value FROM _priv_record WHERE others IS NOT NULL;
DELETE FROM priv.value_fingerprint AS known WHERE source = @number@ AND list_contains(list_concat(@attributes@, @others@), attribute)
AND NOT EXISTS (
    FROM _priv_value AS mine
    WHERE mine.attribute = known.attribute AND mine.mark = known.mark AND mine.value = known.value
);
INSERT INTO priv.value_fingerprint
SELECT @number@, attribute, mark, value FROM _priv_value
ANTI JOIN (SELECT attribute, mark FROM priv.value_fingerprint WHERE source = @number@) USING (attribute, mark);
DELETE FROM priv.placement AS known USING _priv_record AS mine WHERE source = @number@ AND known.mark = mine.mark;
INSERT INTO priv.placement SELECT @number@, mark, placed FROM _priv_record;
UPDATE priv.source SET records = @records@, level = greatest(level, @level@) WHERE number = @number@

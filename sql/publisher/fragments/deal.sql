-- The records that are to be grouped: places of their true values, and for each attribute the bits that order the
-- records of a value and the bits that draw what is published. A temporary table, since fresh bits cannot be drawn twice.
WITH coded AS (
    SELECT @public@@id_number@ AS _number, @id_text@ AS _text, @codes@
    FROM @source@ @domains@
)
SELECT * EXCLUDE (_number, _text), @coins@ FROM coded

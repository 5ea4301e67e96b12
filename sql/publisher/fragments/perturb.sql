-- The published rows: every sensitive value is kept or exchanged by 64 bits of its own. A value that is not in the
-- domain finds no partner, so rows are missing in the end, and the publication is refused.
WITH coded AS (
    SELECT @public@@id_number@ AS _number, @id_text@ AS _text, @codes@
    FROM @source@ @domains@
), drawn AS (
    SELECT *, @bits@ FROM coded
), shown AS (
    SELECT drawn.* EXCLUDE (_number, _text), @shown@ FROM drawn @joined@
)
SELECT @published@ FROM shown @values@

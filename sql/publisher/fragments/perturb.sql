-- The published rows: every sensitive value is kept or exchanged by 64 bits of its own.
WITH shown AS (
    SELECT drawn.* EXCLUDE (_number, _text), @shown@ FROM (@bits@) AS drawn @joined@
)
SELECT @published@ FROM shown @values@

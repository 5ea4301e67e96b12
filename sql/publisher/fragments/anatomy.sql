-- The published rows: every record with its group, and the values of that group in the order of the domain.
WITH ranked AS (
    SELECT *, @ranks@ FROM @assigned@
)
SELECT @published@ FROM ranked @groups@ @values@

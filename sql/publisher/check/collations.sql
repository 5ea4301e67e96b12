-- Text columns: how many values differ as they are compared, and how many differ in their bytes.
WITH looked_at AS MATERIALIZED (SELECT @texts@ FROM (FROM @source@ @sampling@))
SELECT unnest([@equal@]) AS equal, unnest([@different@]) AS different

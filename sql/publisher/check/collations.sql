-- Text columns: how many values differ as they are compared, and how many differ in their bytes.
SELECT unnest(equal) AS equal, unnest(different) AS different
FROM (SELECT [@equal@] AS equal, [@different@] AS different FROM (FROM @source@ @sampling@))

-- The variance depends on the groups alone.
0e0

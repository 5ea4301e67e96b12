-- The variance depends on the number of rows alone.
0e0

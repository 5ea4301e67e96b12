-- Half the distance between two neighbouring true counts: they are what varies.
0.5e0

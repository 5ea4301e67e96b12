-- Half the distance between two neighbouring true counts: they are what varies, given the groups.
0.5e0

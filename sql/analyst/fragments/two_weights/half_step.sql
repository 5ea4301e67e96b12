-- Half the distance between two neighbouring estimates: the continuity correction.
0.5e0 / @gap@

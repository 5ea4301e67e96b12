-- Half the distance between neighbouring estimates: the continuity correction.
@half_step_number@

-- Half the distance between two neighbouring estimates, of the heaviest row.
coalesce(max(weight::DOUBLE), 1) / (2 * @gap@)

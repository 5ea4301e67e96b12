-- Half the distance between two neighbouring estimates, of the records with most copies.
coalesce(max(@inflation@), 1) / (2 * @gap@)

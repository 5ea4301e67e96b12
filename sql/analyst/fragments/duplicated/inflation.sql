-- How much larger a record's part of the variance is than if it had been perturbed whole.
CASE WHEN weight > 1 THEN weight::DOUBLE + 0.25e0 / weight::DOUBLE ELSE 1e0 END

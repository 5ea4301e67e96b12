-- Nothing is perturbed, so nothing is compared.
[1e0 FOR y IN range(@size@)]

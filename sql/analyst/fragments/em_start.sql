-- Every value alike.
[1e0 / @size@ FOR x IN range(@size@)]

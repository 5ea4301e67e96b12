-- Budgets are stated, and records withdrawn. Of what was published before, none are.
@budget@
@withdrawn@

"""What was published of whom, and what it adds up to: populations, draws, groupings, withdrawn ids, budgets."""

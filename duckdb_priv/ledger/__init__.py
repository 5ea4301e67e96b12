"""The ledger of publications and their total privacy loss: populations, draws, groupings, withdrawn ids, budgets."""

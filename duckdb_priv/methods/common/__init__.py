"""Parts that several mechanisms use: domains, perturbation by record, hierarchies, findings of audits."""

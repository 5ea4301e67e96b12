"""What several mechanisms share: domains, perturbation by record, hierarchies, findings of audits."""

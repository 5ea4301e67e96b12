"""The ways to publish: one folder for each mechanism, and what they share in ``common``."""

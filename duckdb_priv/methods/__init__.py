"""The methods of publishing: one folder for each, and their shared code in ``common``."""

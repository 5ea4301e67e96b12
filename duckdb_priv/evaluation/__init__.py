"""Compares the answers of releases with true counts, and predicts errors before publishing."""

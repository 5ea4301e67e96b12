"""Checks a table before publication: one module for each kind of finding."""

"""Releases: their model, arguments and catalog rows, and the opening of release files."""

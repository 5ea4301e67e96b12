"""The SQL of a release file: the analyst's macros, joint counts and views."""

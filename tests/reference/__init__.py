"""Reference implementations: the papers' own algorithms, and numpy versions of what SQL computes.

Tests and the figures of the papers compare the library with them. Code that publishes or counts never imports them.
"""

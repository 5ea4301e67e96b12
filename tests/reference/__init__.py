"""What the papers say to the letter, and twins in numpy of what SQL computes.

Tests and the papers' figures measure the rest of the library against it; nothing that publishes or counts imports it.
"""

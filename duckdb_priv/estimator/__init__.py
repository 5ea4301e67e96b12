"""What the analyst gets: macros, joint counts and views, all of it plain SQL."""

"""A page that explores releases in a browser."""

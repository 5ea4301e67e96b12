"""What a release is: its model, its arguments, its rows in the catalog, and opening its file."""

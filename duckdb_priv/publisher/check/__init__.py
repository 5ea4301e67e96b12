"""What would be wrong with publishing a table: one module for each kind of finding."""

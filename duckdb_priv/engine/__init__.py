"""DuckDB: its instances, the Python functions registered on them, procedures, the secret and the source."""

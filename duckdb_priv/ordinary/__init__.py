"""Ordinary SQL over a release: you query it as if it were the true table, and get estimates."""

try:
    import sqlglot as _sqlglot  # noqa: F401  (queries are taken apart with it, and with nothing else)
except ImportError as missing:
    raise ImportError("ordinary SQL needs sqlglot: pip install 'duckdb_priv[sql]'") from missing

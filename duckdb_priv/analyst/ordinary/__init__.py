"""Ordinary SQL over a release: the query is written as if the table were the true one, and answered by estimates."""

try:
    # Queries are taken apart with it, and with nothing else.
    import sqlglot.expressions as _expressions
except ImportError as missing:
    raise ImportError("ordinary SQL needs sqlglot: pip install 'duckdb_priv[sql]'") from missing

if not hasattr(_expressions, "Expr"):
    # Its name up to sqlglot 28, which Superset has.
    _expressions.Expr = _expressions.Expression  # type: ignore[misc, assignment, unused-ignore]

"""Asks a release by the magic of a notebook: python ask_jupyter.py FILE.

Writes flu by ward, the same with intervals, and what the cell says to a question that is refused.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from IPython.core.interactiveshell import InteractiveShell
from sqlalchemy.dialects import registry

registry.register("duckdb_priv", "duckdb_priv.ordinary.dialect", "Dialect")
QUESTION = "SELECT ward, count(*) AS flu FROM uniform WHERE disease = 'flu' AND age > 30 GROUP BY ward ORDER BY ward"
shell, stated = InteractiveShell.instance(), io.StringIO()
with redirect_stdout(stated), redirect_stderr(stated):
    shell.run_line_magic("load_ext", "sql")
    shell.run_line_magic("config", "SqlMagic.displaycon = False")
    shell.run_line_magic("sql", f"duckdb_priv:///{sys.argv[1]} --alias plain")
    plain = shell.run_cell_magic("sql", "plain", QUESTION)
    shell.run_line_magic("sql", f"duckdb_priv:///{sys.argv[1]}?intervals=true --alias intervals")
    beside = shell.run_cell_magic("sql", "intervals", QUESTION)
    refused = io.StringIO()
    with redirect_stderr(refused), redirect_stdout(refused):
        try:
            shell.run_cell_magic("sql", "plain", QUESTION.replace("'flu'", "'Flu'"))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
print(json.dumps([[list(row) for row in plain], [list(row) for row in beside], refused.getvalue()]))

"""What a superset_config.py says so that charts by drag and drop are estimates, either way.

Databases ``duckdb+priv:////path/to/visits_public.duckdb`` are answered by the dialect, which an installed duckdb_priv
brings along; it is named here for a Superset that only finds the package. Those of ``RELEASES``, opened as
``duckdb:////path``, say ``USE estimated`` first: their datasets are views of the schema estimated.
"""

from __future__ import annotations

import json
import os
from typing import Any

from sqlalchemy import event
from sqlalchemy.dialects import registry
from sqlalchemy.engine import Engine

RELEASES = set(json.loads(os.environ.get("RELEASES", "[]")))
registry.register("duckdb.priv", "duckdb_priv.ordinary.dialect", "Dialect")


@event.listens_for(Engine, "connect")
def say_first(connection: Any, _: Any) -> None:
    if type(connection).__module__ == "duckdb_engine":
        files = connection.execute("SELECT path FROM duckdb_databases()").fetchall()
        if any(path in RELEASES for (path,) in files):
            connection.execute("USE estimated")

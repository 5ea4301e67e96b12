"""Macros of the publisher's that are called like functions of DuckDB, which DuckDB takes before its own."""

from __future__ import annotations

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import PublicationFailed, echoed

FUNCTIONS = "SELECT function_name FROM system.main.duckdb_functions()"


def refuse_shadows(workspace: Workspace) -> None:
    """Refuse to work where a macro takes the place of a function: coins, sums and counts could be others.

    Raises PublicationFailed.
    """
    # Listing all functions takes 20 ms, so DuckDB's own are looked up for those alone who have macros.
    macros = workspace.rows(
        f"{FUNCTIONS} WHERE database_name = ? AND schema_name = 'main' AND NOT internal",
        [workspace.database],
    )
    if not macros:
        return
    own = {name for (name,) in workspace.rows(f"{FUNCTIONS} WHERE internal")}
    if taken := sorted(name for (name,) in macros if name.lower() in own):
        raise PublicationFailed(
            f"the macro {echoed(taken[0])} stands where DuckDB has a function of this name, which would be called",
            hint="give the macro another name, or another schema than main",
        )

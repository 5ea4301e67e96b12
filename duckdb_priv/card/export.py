"""What is handed out: a release, with the analyst's card in it and beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from duckdb_priv.card.card import read_card
from duckdb_priv.card.report import render
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.export import export_with


def export_release(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Write a release, with a card that was computed from nothing but what is written."""
    return export_with(analysts_card, workspace, given)


def analysts_card(connection: duckdb.DuckDBPyConnection, release: str) -> str:
    """Return the card of a release of the current database, as HTML."""
    return render(read_card(connection, release))

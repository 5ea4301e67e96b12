"""Exports a release file, with the analyst's card in the file and beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckdb_priv.card.report import analyst_card
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.publisher.export import export_with


def export_release(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Export a release with a card that is computed from the exported data only."""
    return export_with(analyst_card, workspace, given)

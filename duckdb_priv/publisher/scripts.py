"""Writes scripts next to an export, with views of estimates for other databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.estimator import dialects
from duckdb_priv.publisher.placing import beside, refuse_unmarked, write_text
from duckdb_priv.release import catalog


def written(
    workspace: Workspace, release: str, export: Path, wanted: Sequence[str]
) -> dict[Path, str]:
    """Return the text of each script, by path.

    Raises InvalidParameter if another file has that path, or if the release cannot be counted outside DuckDB.
    """
    if not wanted:
        return {}
    attributes = catalog.sensitive_attributes(workspace.cursor, release)
    columns = catalog.published_columns(workspace.cursor, release)
    public = [of.name for of in columns if of.role == "public"]
    found = {}
    for dialect in dict.fromkeys(wanted):
        place = beside(export, f"{dialect}.sql")
        refuse_unmarked(place, dialects.mark(release), release, "dialects")
        found[place] = dialects.script(release, attributes, public, dialect)
    return found


def write(workspace: Workspace, scripts: Mapping[Path, str]) -> None:
    """Write the scripts after the export is complete."""
    for place, text in scripts.items():
        workspace.on_commit.append(partial(write_text, place, text))

"""``FROM priv.publish_…(…)`` and ``FROM priv.drop_release(…)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.estimator import macros
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import Method
from duckdb_priv.publisher import declared
from duckdb_priv.publisher.publication import Publication
from duckdb_priv.publisher.steps import STEPS, drop
from duckdb_priv.publisher.versions import Succession
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import read
from duckdb_priv.release.request import ReleaseName


def publish(
    method: Method,
    workspace: Workspace,
    given: Mapping[str, Any],
    follows: Succession | None = None,
) -> list[dict[str, Any]]:
    """Publish a source with a method, in the open transaction of the workspace.

    ``follows`` is the previous version, if this is the next version of a release.
    """
    publication = begin(method, workspace, given, follows)
    for step in STEPS:
        step(publication)
    return [dict(publication.receipt)]


def begin(
    method: Method,
    workspace: Workspace,
    given: Mapping[str, Any],
    follows: Succession | None = None,
    kind: str = "TABLE",
) -> Publication:
    """Return a new publication with its arguments read, before any step."""
    request, arguments = method.read(given)
    if kept := declared.words_kept(workspace.cursor, request):
        request, given = replace(request, **kept), {**given, **kept}
    return Publication(workspace, method, request, arguments, given, method.name, follows, kind)


def drop_release(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Drop a release. Exported copies remain, and the ledger keeps its entries."""
    (arguments,) = read(given, ReleaseName, of="drop_release")
    release = catalog.find_release(workspace.cursor, arguments.release)
    drop(workspace, release)
    Memory(workspace, release).forget()
    declared.forget(workspace.cursor, release)
    macros.remove(workspace.cursor)
    return [{"release": release}]

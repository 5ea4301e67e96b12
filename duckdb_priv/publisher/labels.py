"""Labels of codes: a release takes from the publisher's table the labels of values that it can show.

A code book usually has more: other columns, and codes that do not occur. The domains and published columns of the
release select the labels, so labels reveal nothing that is not published anyway.
"""

from __future__ import annotations

from collections.abc import Mapping

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, UnknownName, echoed
from duckdb_priv.methods.common.tables import read_columns, shown
from duckdb_priv.release.arguments import UNSEEN
from duckdb_priv.release.catalog import Labels
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import section

COMPARED = "values are compared as text, as SELECT DISTINCT {}::VARCHAR shows them"
COLUMNS = {name: f"{name}::VARCHAR" for name in ("attribute", "value", "label")}
"""The columns of the label table, each with the SQL that reads it."""

CodeBook = Mapping[str, Mapping[str | None, str]]
"""By column of the source: the label of each value, including NULL."""


def read_labels(workspace: Workspace, source: Source, table: str | None) -> CodeBook:
    """Return the checked labels of a table; empty without a table.

    Raises UnknownName for an unknown table, or a column that the source lacks. Raises InvalidParameter for a view of
    the source, and for labels that are missing, duplicate, or contain invisible characters.
    """
    if table is None:
        return {}
    spelling = {name.lower(): name for name in source.types}
    found: dict[str, dict[str | None, str]] = {}
    for attribute, value, label in read_columns(workspace, source, "labels", table, COLUMNS):
        if attribute is None:
            raise InvalidParameter(
                f"labels {table!r} has a row without attribute",
                hint="name the column whose value it explains",
            )
        if attribute.lower() not in spelling:
            raise UnknownName.among("column", attribute, source.types, of=repr(source.name))
        column = spelling[attribute.lower()]
        _check(table, column, value, label)
        known = found.setdefault(column, {})
        if value in known:
            raise InvalidParameter(
                f"labels {table!r} explains the value {shown(value)} of {column!r} twice",
                hint="give each value one label",
            )
        known[value] = label
    return found


def _check(table: str, column: str, value: str | None, label: str | None) -> None:
    if label is None or not label.strip():
        raise InvalidParameter(
            f"labels {table!r} has no label for the value {shown(value)} of {column!r}",
            hint="say what it means, or leave the row out",
        )
    if UNSEEN.search(label):
        raise InvalidParameter(
            f"the label of the value {shown(value)} of {column!r} holds a character that cannot be seen:"
            f" {echoed(label)}",
            hint="write it in one line of plain text",
        )


def labels_of(
    workspace: Workspace, table: str | None, book: CodeBook, plan: Plan, target: str
) -> tuple[Labels, list[str]]:
    """Return the labels of the values in a release, in domain order, and warnings about labels left out.

    ``target`` is the table expression of its rows. Raises InvalidParameter if no label of a column matches a value.
    """
    domains = {attribute.name: attribute.values for attribute in plan.attributes}
    chosen: dict[str, list[tuple[str | None, str]]] = {}
    warnings = []
    for name, role in plan.columns.items():
        if name not in book:
            continue
        query = section("publishing", "values_of_column", column=identifier(name), table=target)
        values = domains.get(name) or [value for (value,) in workspace.rows(query)]
        chosen[name] = [(value, book[name][value]) for value in values if value in book[name]]
        # Generalized columns show other values than those in the code book.
        if not chosen[name] and role != "generalized":
            raise InvalidParameter(
                f"labels {table!r} explains no value that {name!r} has",
                hint=COMPARED.format(identifier(name)),
            )
        if left := len(book[name]) - len(chosen[name]):
            warnings.append(
                f"{left} of {len(book[name])} labels of {name!r} are of values that the release does not have: they"
                " were left out"
            )
    return {name: labels for name, labels in chosen.items() if labels}, warnings

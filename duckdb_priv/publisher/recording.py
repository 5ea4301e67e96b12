"""Writes what a publication leaves in the catalog: its release, attributes, coefficients and guarantees."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from duckdb_priv.engine.plan import Plan
from duckdb_priv.release.catalog import Connection, Labels, Version, now
from duckdb_priv.release.model import Guarantee, SensitiveAttribute, published_column, to_json
from duckdb_priv.release.request import Request
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.version import __version__


def write_catalog(
    connection: Connection,
    request: Request,
    which: Version,
    plan: Plan,
    types: dict[str, str],
    rows_published: int,
    warnings: Iterable[str],
    descriptions: Mapping[str, str],
    labels: Labels,
) -> dt.datetime:
    """Write the catalog rows of a release, and return when it was published.

    ``descriptions`` and ``labels`` have what is said of attributes and of their values, by their names.
    """
    time, release = now(), request.release
    connection.execute(
        f"INSERT INTO priv.release VALUES ({', '.join('?' * 17)})",
        [
            release,
            plan.mechanism,
            to_json(plan.parameters),
            to_json(plan.provenance),
            rows_published,
            time,
            __version__,
            request.title,
            request.description,
            request.contact,
            request.licence,
            which.number,
            which.previous_at,
            which.previous_rows,
            which.rows_kept,
            which.rows_moved,
            [asdict(each) for each in which.earlier],
        ],
    )
    sensitive = {attribute.name: attribute for attribute in plan.attributes}
    _insert(
        connection,
        "attribute",
        [
            (
                release,
                name,
                role,
                types[published_column(name, role)],
                sensitive[name].size if name in sensitive else None,
                sensitive[name].form if name in sensitive else None,
                published_column(name, role),
                _described(sensitive.get(name)),
                descriptions.get(name),
                [{"value": value, "label": label} for value, label in labels.get(name, ())] or None,
            )
            for name, role in plan.columns.items()
        ],
    )
    for attribute in plan.attributes:
        connection.register("_priv_coefficients", _coefficients(release, attribute))
        connection.execute("INSERT INTO priv.coefficient BY NAME FROM _priv_coefficients")
        connection.unregister("_priv_coefficients")
    _insert(connection, "guarantee", [_guarantee_row(release, each) for each in plan.guarantees])
    _insert(connection, "warning", [(release, *each) for each in enumerate(warnings, start=1)])
    return time


def _described(attribute: SensitiveAttribute | None) -> dict[str, Any] | None:
    """Describe the blocks that records report as the catalog does."""
    if attribute is None or attribute.blocks is None:
        return None
    of = attribute.blocks
    return {
        "number": of.count,
        "stride": of.stride,
        "first": list(of.first),
        "type": attribute.type,
    }


def _coefficients(release: str, attribute: SensitiveAttribute) -> pa.Table:
    """Lay the coefficients of one attribute out as the catalog has them."""
    return pa.table(
        {
            "release": pa.array([release] * attribute.size),
            "attribute": pa.array([attribute.name] * attribute.size),
            "position": pa.array(range(attribute.size), pa.int32()),
            "value": pa.array(attribute.values, pa.string()),
            **{name: pa.array(of, pa.float64()) for name, of in attribute.numbers.items()},
            **{
                name: pa.array(list(of), pa.list_(pa.float64()))
                for name, of in attribute.lists.items()
            },
        }
    )


def _guarantee_row(release: str, guarantee: Guarantee) -> tuple[Any, ...]:
    return (
        release,
        guarantee.attribute,
        guarantee.name,
        to_json(guarantee.parameters),
        guarantee.value,
        guarantee.statement,
    )


def _insert(connection: Connection, table: str, rows: list[tuple[Any, ...]]) -> None:
    if rows:
        marks = f"({', '.join('?' * len(rows[0]))})"
        connection.execute(
            f"INSERT INTO priv.{identifier(table)} VALUES {', '.join([marks] * len(rows))}",
            [value for row in rows for value in row],
        )

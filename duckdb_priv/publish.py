"""One release, one transaction: the table, its catalog rows and its macros, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import duckdb

from duckdb_priv import analyst, catalog, views
from duckdb_priv.errors import PublicationFailed, ReleaseExists
from duckdb_priv.parameters import Plan, Request, flag
from duckdb_priv.procedures import Call, procedure
from duckdb_priv.recipes.anatomy import plan_anatomy
from duckdb_priv.recipes.distribution import plan_distribution
from duckdb_priv.recipes.fine_grain import plan_fine_grain
from duckdb_priv.recipes.matrix import plan_matrix
from duckdb_priv.recipes.reconstruction_private import plan_reconstruction_private
from duckdb_priv.recipes.safe_k import MECHANISM as SAFE_K
from duckdb_priv.recipes.safe_k import plan_safe_k
from duckdb_priv.recipes.splu import plan_splu
from duckdb_priv.recipes.uniform import plan_uniform
from duckdb_priv.source import Source, open_source, warn_of_identifiers
from duckdb_priv.sqlfiles import identifier, literal

Recipe = Callable[[Call, Source, str], Plan]

ENUM_VALUES = re.compile(r"^ENUM\(.*\)", re.DOTALL)
SCHEMA = "main"
"""Where releases stand: every search path reaches it, and a release file has no other."""


@procedure
def publish_uniform(call: Call) -> list[dict[str, Any]]:
    """Publish by uniform perturbation."""
    return publish(call, plan_uniform)


@procedure
def publish_fine_grain(call: Call) -> list[dict[str, Any]]:
    """Publish by fine-grain perturbation."""
    return publish(call, plan_fine_grain)


@procedure
def publish_matrix(call: Call) -> list[dict[str, Any]]:
    """Publish with any matrix."""
    return publish(call, plan_matrix)


@procedure
def publish_reconstruction_private(call: Call) -> list[dict[str, Any]]:
    """Publish by uniform perturbation of a sample of every large micro group."""
    return publish(call, plan_reconstruction_private)


@procedure
def publish_safe_k(call: Call) -> list[dict[str, Any]]:
    """Publish by safe k-anonymity on a fresh sample."""
    return publish(call, plan_safe_k, needs_sensitive=False)


@procedure
def publish_splu(call: Call) -> list[dict[str, Any]]:
    """Publish by decoy groups."""
    return publish(call, plan_splu)


@procedure
def publish_anatomy(call: Call) -> list[dict[str, Any]]:
    """Publish by Anatomy."""
    return publish(call, plan_anatomy)


@procedure
def publish_distribution(call: Call) -> list[dict[str, Any]]:
    """Publish values that are redrawn from their distribution."""
    return publish(call, plan_distribution)


def publish(call: Call, recipe: Recipe, *, needs_sensitive: bool = True) -> list[dict[str, Any]]:
    """Publish a source as a recipe plans it, inside the transaction that is open on the call's cursor.

    Raises ReleaseExists if the name is taken, and PublicationFailed if the rows that were written are
    not as many as the plan says, or none.
    """
    request = Request.read(call.arguments, needs_sensitive=needs_sensitive)
    append = "append" in call.arguments and flag(call.arguments, "append")
    if not append:
        _make_room(call, request)
    source = open_source(call, request)
    plan = recipe(call, source, request.release)
    if append:
        drop(call.cursor, call.database, catalog.find_release(call.cursor, request.release))
    target = f"{identifier(call.database)}.{SCHEMA}.{identifier(request.release)}"
    call.cursor.execute(f"CREATE TABLE {target} AS {plan.select} ORDER BY ALL")
    (published,) = call.rows(f"SELECT count(*) FROM {target}")[0]
    if plan.rows_expected is not None and published != plan.rows_expected:
        raise PublicationFailed(
            f"{request.source!r} changed while it was being published",
            hint="nothing was kept; publish a table, or a view whose rows do not change",
        )
    if published == 0:
        raise PublicationFailed(
            "every record was left out, so nothing was published",
            hint="take coarser levels, a smaller k or a larger beta",
        )
    call.cursor.execute(
        f"COMMENT ON TABLE {target} IS "
        + literal(
            f"Published by duckdb_priv: {plan.mechanism}. Count with priv.reconstructed_count."
        )
    )
    types = {row[0]: ENUM_VALUES.sub("ENUM", row[1]) for row in call.rows(f"DESCRIBE {target}")}
    catalog.record(
        call.cursor,
        request.release,
        plan,
        types,
        published,
        source.name,
        source.origins,
        source.record_id,
    )
    analyst.create(call.cursor)
    views.create_sensitive_tables(call.cursor, request.release)
    return [
        {
            "release": request.release,
            "mechanism": plan.mechanism,
            "rows_source": source.rows,
            "rows_published": published,
            "rows_suppressed": _suppressed(plan, source.rows, published),
            "guarantee": plan.strongest,
            "warnings": [
                *plan.warnings,
                *(warn_of_identifiers(call, source) if "public" in plan.columns.values() else ()),
                *_warn_of_mixture(call, source),
            ],
        }
    ]


def _suppressed(plan: Plan, rows: int, published: int) -> int | None:
    """Count the records that are not published, unless that must not be told."""
    if plan.sample:
        return None
    return rows - published if plan.left_out is None else plan.left_out


def _warn_of_mixture(call: Call, source: Source) -> list[str]:
    """Say where a source has been published with and without differential privacy of whole records."""
    (mechanisms,) = call.rows(
        "SELECT list(DISTINCT mechanism ORDER BY mechanism) FROM priv.ledger WHERE list_has_any(origins, ?)",
        [list(source.origins)],
    )[0]
    others = [name for name in mechanisms if name != SAFE_K]
    if SAFE_K not in mechanisms or not others:
        return []
    return [
        f"{source.name!r} has been published by {SAFE_K} and by {' and '.join(others)}: the others do not hide whether"
        " a record is there, so together the releases have no (epsilon, delta) for whole records"
    ]


def _make_room(call: Call, request: Request) -> None:
    """Refuse a name that is taken, or drop the release that is to be replaced."""
    taken = call.rows(
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_catalog = ? AND table_schema = ? AND lower(table_name) = lower(?)",
        [call.database, SCHEMA, request.release],
    )
    if not taken:
        return
    known = {name.lower(): name for name in catalog.releases(call.cursor)}
    if request.release.lower() not in known:
        raise ReleaseExists(
            f"{request.release!r} is a table that is no release",
            hint="choose another name for the release",
        )
    if not request.replace:
        raise ReleaseExists(
            f"a release {request.release!r} exists",
            hint="choose another name, or write replace := true",
        )
    drop(call.cursor, call.database, known[request.release.lower()])


def drop(cursor: duckdb.DuckDBPyConnection, database: str, release: str) -> None:
    """Drop the tables of a release and its public rows; the ledger keeps what was published."""
    views.drop_sensitive_tables(cursor, release)
    cursor.execute(f"DROP TABLE IF EXISTS {identifier(database)}.{SCHEMA}.{identifier(release)}")
    catalog.forget(cursor, release)


@procedure
def drop_release(call: Call) -> list[dict[str, Any]]:
    """Drop a release; what was handed out stays handed out, and in the ledger."""
    release = catalog.find_release(call.cursor, call.arguments["release"])
    drop(call.cursor, call.database, release)
    analyst.create(call.cursor)
    return [{"release": release}]

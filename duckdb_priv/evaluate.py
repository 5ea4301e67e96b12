"""How well releases answer a workload, beside the truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from duckdb_priv import catalog
from duckdb_priv.answers import Reader, count, open_reader, open_workload, reconstruct
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.parameters import Request, listed
from duckdb_priv.procedures import Call, procedure, required
from duckdb_priv.recipes.hierarchy import generalize
from duckdb_priv.recipes.uniform import number
from duckdb_priv.source import Source, open_source
from duckdb_priv.sqlfiles import body, fill, read, template
from duckdb_priv.workload import TABLE, Draw, draw

EVALUATION = "_priv_evaluation"
"""Temporary table with one row per release and query."""


@procedure
def evaluate(call: Call) -> list[dict[str, Any]]:
    """Answer a workload from releases and from the truth: one row per release and query."""
    compare(call)
    relation = call.cursor.execute(f"FROM {EVALUATION} ORDER BY release, query")
    names = [column[0] for column in relation.description]
    return [dict(zip(names, row, strict=True)) for row in relation.fetchall()]


@procedure
def evaluation_summary(call: Call) -> list[dict[str, Any]]:
    """Sum an evaluation up, by selectivity and for small counts."""
    source = compare(call)
    small = call.arguments.get("small_counts")
    if isinstance(small, bool) or not isinstance(small, int) or small < 0:
        raise InvalidParameter(f"small_counts must be a whole number from 0 up, got {small!r}")
    relation = call.cursor.execute(
        fill(
            body(read("evaluation", "summary")),
            {"evaluation": EVALUATION, "rows": str(source.rows), "small": str(small)},
        )
    )
    names = [column[0] for column in relation.description]
    return [dict(zip(names, row, strict=True)) for row in relation.fetchall()]


def compare(call: Call) -> Source:
    """Answer the workload of a call, and put the answers beside the truth into EVALUATION."""
    releases = listed(call.arguments, "release")
    if not releases:
        raise InvalidParameter("no release is named", hint="write its name, or a list of names")
    readers = [
        open_reader(call.cursor, catalog.find_release(call.cursor, name)) for name in releases
    ]
    source = _open_source(call, readers)
    _take_workload(call, source, readers)
    count(call.cursor, source)
    reconstruct(
        call.cursor,
        readers,
        method=str(required(call.arguments, "method")),
        confidence=number(call.arguments, "confidence"),
    )
    call.cursor.execute(
        fill(
            template(
                "CREATE OR REPLACE TEMP TABLE @evaluation@ AS " + body(read("evaluation", "beside"))
            ),
            {"evaluation": EVALUATION, "queries": TABLE},
        )
    )
    return source


def _open_source(call: Call, readers: Sequence[Reader]) -> Source:
    """Open the table with the truth: conditions are about columns that no release perturbs."""
    source = open_source(
        call,
        Request(
            source=str(required(call.arguments, "source")),
            release="evaluation",
            sensitive=(),
            record_id=(),
            exclude=(),
            replace=False,
        ),
    )
    if call.arguments.get("hierarchies") is not None:
        source = generalize(call, source, call.arguments["hierarchies"], _levels(call, readers))
    published = [{name.lower() for name in reader.types} for reader in readers]
    sensitive = [{each.name.lower() for each in reader.attributes} for reader in readers]
    return replace(
        source,
        public=_within(source.types, set.intersection(*published)),
        sensitive=_within(source.types, set.union(*sensitive)),
    )


def _levels(call: Call, readers: Sequence[Reader]) -> dict[str, int]:
    """Return the levels of the columns of generalized releases, which must be the same for all."""
    found = []
    for reader in readers:
        (text,) = call.rows(
            "SELECT parameters FROM priv.release WHERE release = ?", [reader.release]
        )[0]
        levels = json.loads(text).get("levels")
        if levels is None:
            raise InvalidParameter(
                f"release {reader.release!r} is not generalized, so that hierarchies say nothing of it",
                hint="leave hierarchies out, and evaluate generalized releases by themselves",
            )
        found.append(levels)
    if any(levels != found[0] for levels in found):
        raise InvalidParameter(
            "the releases are generalized to different levels", hint="evaluate them one by one"
        )
    return dict(found[0])


def _within(names: Iterable[str], known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.lower() in known)


def _take_workload(call: Call, source: Source, readers: Sequence[Reader]) -> None:
    """Load the workload that is named, or draw one about what all the releases publish."""
    name = call.arguments.get("workload")
    if name is not None:
        open_workload(call, name)
        return
    shared = set.intersection(
        *({attribute.name.lower() for attribute in reader.attributes} for reader in readers)
    )
    if not shared:
        raise InvalidParameter(
            "the releases have no sensitive attribute in common", hint="evaluate them one by one"
        )
    asked = tuple(name for name in source.sensitive if name.lower() in shared)
    draw(
        call.cursor,
        replace(source, sensitive=asked),
        Draw.read(
            {
                "queries": call.arguments.get("queries"),
                "max_public_attributes": 3,
                "min_selectivity": 0.001,
                "seed": call.arguments.get("seed"),
            },
            source.rows,
        ),
    )

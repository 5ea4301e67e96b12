"""Describes a release for a public registry of private releases, and for an impact assessment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger.budget import Spent, limit_of, spent_of
from duckdb_priv.publisher.described import Described, describe
from duckdb_priv.release.arguments import read
from duckdb_priv.release.model import to_json
from duckdb_priv.release.promise import factor, sure_of
from duckdb_priv.release.request import WORDS, ReleaseName


def registry(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row that describes a release, from the catalog and the ledger only; no records are read."""
    (arguments,) = read(given, ReleaseName, of="registry")
    connection = workspace.cursor
    found = describe(connection, arguments.release)
    limit = limit_of(connection, found.population)
    spent = spent_of(connection, found.population, limit)
    promise = found.promise
    return [
        {
            "release": found.release,
            **{name: found.row[name] for name in WORDS},
            "population": found.population,
            "version": found.row["version"],
            "published_at": found.row["created_at"],
            "rows_published": found.row["rows_published"],
            "method": found.method.name,
            "parameters": to_json(found.row["parameters"]),
            "unit_of_privacy": promise.unit,
            "neighbouring_relation": promise.neighbours or None,
            "protects_against": promise.against,
            "epsilon": promise.epsilon,
            "delta": None if promise.epsilon is None else promise.delta,
            "population_epsilon": spent.epsilon,
            "population_delta": spent.delta,
            "guarantees": list(found.guarantees),
            "not_protected": list(found.unprotected),
            "impact_assessment": _assessment(
                found, spent, None if limit is None else limit.epsilon
            ),
            "library": f"duckdb_priv {found.row['library_version']}",
        }
    ]


def _assessment(found: Described, spent: Spent, limit: float | None) -> str:
    """Write the answers for a data protection impact assessment that the catalog has, one paragraph each."""
    paragraphs = {
        "What is published": _published(found),
        "Why": (
            f"{found.row['description'] or 'No description was given'}. For its author to add: the purpose, its"
            " legal basis, and why fewer or coarser columns would not serve it."
        ).replace("..", "."),
        "Measures": " ".join(found.guarantees) or "None: nothing is promised.",
        "Risks that remain": " ".join([*_worst(found), *found.unprotected]),
        "Over time": _over_time(found, spent, limit),
        "Rights of the people": (
            "Someone who objects is left out of all later versions by priv.withdraw. Copies that were handed out"
            " cannot be changed."
        ),
    }
    return "\n\n".join(f"{heading}. {text}" for heading, text in paragraphs.items())


def _published(found: Described) -> str:
    columns = [
        f"{words}: {names}"
        for words, names in (
            ("as they are", found.named("public")),
            ("sensitive", found.named("sensitive")),
            ("made coarser, of a sample", found.named("generalized")),
        )
        if names
    ]
    row, words = found.row, found.method.words
    return (
        f"{found.release}, version {row['version']} of {row['created_at']:%Y-%m-%d}: {row['rows_published']:,} rows"
        f" about the population {found.population!r}. Columns {'; '.join(columns)}. Record ids and all other columns of"
        f" the source are left out. Method: {words.title}. {words.promise}."
    )


def _worst(found: Described) -> list[str]:
    promise = found.promise
    if promise.epsilon is None:
        return ["No epsilon limits what someone with other knowledge can learn."]
    changes = (
        f"Of {promise.unit}, against {promise.against}: the release changes any odds by a factor of"
        f" {factor(promise.epsilon)}. Someone who was half sure of a truth can be {sure_of(promise.epsilon)} sure"
        " afterwards"
    )
    return [changes + (f", but for delta = {promise.delta:.3g}." if promise.delta else ".")]


def _over_time(found: Described, spent: Spent, limit: float | None) -> str:
    total = (
        f"epsilon = {spent.epsilon:.4g}, delta = {spent.delta:.3g}"
        if math.isfinite(spent.epsilon)
        else "no finite epsilon, because something without an epsilon was published"
    )
    budget = (
        "No budget limits later publications."
        if limit is None
        else f"Publishing beyond epsilon = {limit:.4g} is refused."
    )
    return f"All that was published of the population {found.population!r} adds up to {total} ({spent.rule}). {budget}"

"""Publishing by safe k-anonymity: a fresh random sample, generalized, without groups under k.

The scheme is given, or chosen by the exponential mechanism on the full table; it never depends on the sample.
Neither the size of the sample nor the number of suppressed records is kept anywhere.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy or, k-anonymization meets
differential privacy" (ASIACCS 2012), theorems 3.9 and 3.11; mechanism/sampling.md and mechanism/lattice.md say
where the latter needs the full table, and what the score must be multiplied with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.literals import enum
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import EXCESS, Integers, Lattice, score_nodes
from duckdb_priv.parameters import LedgerEntry, Plan, SensitiveAttribute
from duckdb_priv.procedures import Call, required
from duckdb_priv.randomness import FreshBits
from duckdb_priv.recipes.hierarchy import Hierarchy, count_leaves, open_hierarchies
from duckdb_priv.recipes.perturbation import open_coins
from duckdb_priv.recipes.safe_k_terms import Terms, guarantees_of, warn_of_delta
from duckdb_priv.source import Source
from duckdb_priv.sqlfiles import body, fill, identifier, literal, read

MECHANISM = "safe_k"
SCALE = "scale"
"""The column that says how many source records a published row stands for."""
EVERYTHING = "*"
"""The attribute of the ledger where every column is treated alike."""


def plan_safe_k(call: Call, source: Source, release: str) -> Plan:
    """Decide everything about a generalized release of a sample of a source."""
    terms = Terms.read(call.arguments)
    if taken := [name for name in source.public if name.lower() == SCALE]:
        raise InvalidSource(
            f"column {taken[0]!r} would be published beside a column {SCALE!r} of the release",
            hint="rename it in a view, and publish the view",
        )
    if not source.public:
        raise InvalidSource("no column is left to be published", hint="exclude fewer columns")
    hierarchies = open_hierarchies(call, source, required(call.arguments, "hierarchies"))
    if terms.epsilon1:
        levels, nodes = _choose_levels(call, source, hierarchies, terms)
    else:
        levels, nodes = read_levels(call.arguments["levels"], hierarchies), 1
    # Never keyed: the same records, published again, are a sample of their own.
    coins = open_coins(call, replace(source, record_id=()), {})
    domains = [
        each.generalized(call, level) for each, level in zip(hierarchies, levels, strict=True)
    ]
    parameters: dict[str, Any] = {
        "k": terms.k,
        "beta": terms.beta,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "levels": {each.attribute: level for each, level in zip(hierarchies, levels, strict=True)},
        **({"epsilon1": terms.epsilon1} if terms.epsilon1 else {}),
    }
    guarantees = guarantees_of(terms, nodes)
    return Plan(
        mechanism=MECHANISM,
        parameters=parameters,
        select=_select(source, hierarchies, levels, domains, coins.stream, terms),
        columns={**dict.fromkeys(source.public, "generalized"), SCALE: "scale"},
        attributes=[
            SensitiveAttribute(
                release=release,
                name=each.attribute,
                type="ENUM",
                values=domain,
                form="sample",
                numbers={"own": (terms.beta,) * len(domain), "other": (0.0,) * len(domain)},
            )
            for each, domain in zip(hierarchies, domains, strict=True)
        ],
        provenance=dict.fromkeys(source.public, "given"),
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                EVERYTHING,
                terms.epsilon,
                coins.fingerprint,
                fresh=True,
                delta=terms.delta,
                notes={"hierarchies": call.arguments["hierarchies"]},
            )
        ],
        strongest=guarantees[0].statement,
        rows_expected=None,
        sample=True,
        warnings=warn_of_delta(terms, source.rows),
    )


def read_levels(given: Any, hierarchies: Sequence[Hierarchy]) -> list[int]:
    """Return the level of each column, from a struct that names all of them."""
    if not isinstance(given, dict):
        raise InvalidParameter(
            f"levels must be a struct of whole numbers, got {given!r}",
            hint="write levels := {'age': 2, 'sex': 0}",
        )
    levels = {name.lower(): level for name, level in given.items()}
    names = {each.attribute.lower() for each in hierarchies}
    if unknown := [name for name in given if name.lower() not in names]:
        raise InvalidParameter(
            f"levels names {unknown[0]!r}, which is no column that is published",
            hint="it names " + ", ".join(each.attribute for each in hierarchies),
        )
    for each in hierarchies:
        level = levels.get(each.attribute.lower())
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= each.top:
            raise InvalidParameter(
                f"levels has no level of {each.attribute!r}"
                if level is None
                else f"{each.attribute!r} has no level {level!r}",
                hint=f"give it one from 0 (as it is) to {each.top}",
            )
    return [levels[each.attribute.lower()] for each in hierarchies]


def _choose_levels(
    call: Call, source: Source, hierarchies: Sequence[Hierarchy], terms: Terms
) -> tuple[list[int], int]:
    """Choose the levels by the exponential mechanism on the full table; also return among how many nodes."""
    lattice = Lattice(tuple(each.codes for each in hierarchies))
    if lattice.size == 1:
        raise InvalidParameter(
            "the hierarchies have one level each, so there is nothing to choose with epsilon1",
            hint="write levels := {…}, or give the hierarchies more levels",
        )
    scores, rate = _score_levels(call, source, hierarchies, lattice, terms)
    bits = FreshBits()
    chosen = exponential_mechanism(scores, rate, lambda: int(bits.draw(1)[0]))
    return [int(level) for level in lattice.nodes()[chosen]], lattice.size


def _score_levels(
    call: Call,
    source: Source,
    hierarchies: Sequence[Hierarchy],
    lattice: Lattice,
    terms: Terms,
) -> tuple[Integers, Fraction]:
    """Return the score of every node, and the rate at which a choice by it costs epsilon1."""
    codes, counts = count_leaves(call, source, hierarchies)
    if counts.sum() != source.rows:
        raise InvalidSource(
            "the source changed while it was being published",
            hint="publish a table, not a live view",
        )
    # Merging groups never lowers the excess alone: without a price for detail, everything would be lost.
    weights = lattice.precision()
    scores = score_nodes(lattice, codes, counts, EXCESS, terms.threshold) * weights
    return scores, EXCESS.rate(terms.epsilon1, terms.threshold) / int(weights.max())


def _select(
    source: Source,
    hierarchies: Sequence[Hierarchy],
    levels: Sequence[int],
    domains: Sequence[Sequence[str | None]],
    stream: int,
    terms: Terms,
) -> str:
    """Write the query that gives the published rows, in no order."""
    # Only our own names stand inside, whatever the columns of the source are called.
    numbered = list(enumerate(zip(hierarchies, levels, domains, strict=True)))
    return fill(
        body(read("publisher/fragments", "safe_k")),
        {
            "values": ", ".join(
                f"s.{identifier(each.attribute)} AS _priv_value{n}" for n, (each, _, _) in numbered
            ),
            "source": f"{source.table} AS s",
            "stream": str(stream),
            "threshold": str(math.floor(Fraction(terms.beta) * 2**64)),
            "shown": ", ".join(f"l{n}.generalized AS _priv_shown{n}" for n, _ in numbered),
            "levels": " ".join(
                f"JOIN {each.table} AS l{n} ON l{n}.level = {level}"
                f" AND l{n}.value IS NOT DISTINCT FROM _priv_value{n}::VARCHAR"
                for n, (each, level, _) in numbered
            ),
            "k": str(terms.k),
            "published": ", ".join(
                f"_priv_shown{n}::{enum(domain)} AS {identifier(each.attribute)}"
                for n, (each, _, domain) in numbered
            ),
            "scale": f"{literal(1 / terms.beta)}::DOUBLE",
        },
    )

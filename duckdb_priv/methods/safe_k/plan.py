"""Plan a publication by safe k-anonymity: a fresh random sample, generalized, without groups under k.

The scheme is given, or the exponential mechanism chooses it on the full table; it never depends on the sample. Neither
the size of the sample nor the number of suppressed records is stored.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy or, k-anonymization meets
differential privacy" (ASIACCS 2012), theorems 3.9 and 3.11. mechanism/lattice.md explains why theorem 3.11 needs the
full table, and why scores are multiplied by the precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.kernel import RECORDS, Kernel
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import Lattice, score_nodes
from duckdb_priv.methods.common.hierarchy import (
    Hierarchy,
    count_leaves,
    open_hierarchies,
    read_levels,
)
from duckdb_priv.methods.common.perturbation import RandomBits, fresh_bits
from duckdb_priv.methods.safe_k.arguments import SafeKArguments
from duckdb_priv.methods.safe_k.terms import Terms, guarantees_of, warn_of_delta
from duckdb_priv.release.model import SCALE, LedgerEntry, SensitiveAttribute
from duckdb_priv.sqltext.literals import enum
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import fragment, place, section

MECHANISM = "safe_k"
EVERYTHING = "*"
"""The attribute of a ledger entry that covers all columns."""


def plan(workspace: Workspace, source: Source, release: str, arguments: SafeKArguments) -> Plan:
    """Plan a generalized release of a sample of a source."""
    terms = Terms.of(arguments)
    if taken := [name for name in source.public if name.lower() == SCALE]:
        raise InvalidSource(
            f"column {taken[0]!r} has the same name as the column {SCALE!r} that the release adds",
            hint="rename it in a view, and publish the view",
        )
    if not source.public:
        raise InvalidSource("no column is left to publish", hint="exclude fewer columns")
    hierarchies = open_hierarchies(workspace, source, arguments.hierarchies)
    if arguments.levels is None:
        levels, nodes = _choose_levels(workspace, source, hierarchies, terms)
    else:
        levels, nodes = read_levels(arguments.levels, hierarchies), 1
    random_bits = fresh_bits(workspace, source)
    domains = [
        each.generalized(workspace, level) for each, level in zip(hierarchies, levels, strict=True)
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
        kernel=_kernel(workspace, source, hierarchies, levels, domains, random_bits, terms),
        columns={**dict.fromkeys(source.public, "generalized"), SCALE: "scale"},
        attributes=[
            SensitiveAttribute(
                release=release,
                name=each.attribute,
                column=each.attribute,
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
                random_bits.fingerprint,
                fresh=True,
                delta=terms.delta,
                notes={"hierarchies": arguments.hierarchies},
            )
        ],
        strongest=guarantees[0].statement,
        rows_expected=None,
        sample=True,
        warnings=warn_of_delta(terms, source.rows),
    )


def _choose_levels(
    workspace: Workspace, source: Source, hierarchies: Sequence[Hierarchy], terms: Terms
) -> tuple[list[int], int]:
    """Return levels that the exponential mechanism chooses on the full table, and the number of nodes."""
    lattice = Lattice(tuple(each.codes for each in hierarchies))
    if lattice.size == 1:
        raise InvalidParameter(
            "the hierarchies have one level each, so epsilon1 has nothing to choose from",
            hint="write levels := {…}, or add levels to the hierarchies",
        )
    scores, rate = _score_levels(workspace, source, hierarchies, lattice, terms)
    bits = FreshBits()
    chosen = aggregates_of(workspace, source).once(
        "levels", lambda: exponential_mechanism(scores, rate, lambda: int(bits.draw(1)[0]))
    )
    return [int(level) for level in lattice.nodes()[chosen]], lattice.size


def _score_levels(
    workspace: Workspace,
    source: Source,
    hierarchies: Sequence[Hierarchy],
    lattice: Lattice,
    terms: Terms,
) -> tuple[Integers, Fraction]:
    """Return the score of every node, and the rate with which choosing one costs epsilon1."""
    codes, counts = count_leaves(workspace, source, hierarchies)
    if counts.sum() != source.rows:
        raise InvalidSource(
            "the source changed while it was being published",
            hint="publish a table, not a live view",
        )
    # Merging groups never lowers the excess. So without weights for detail the coarsest node would always be best.
    weights = lattice.precision()
    scores = score_nodes(lattice, codes, counts, terms.threshold) * weights
    return scores, Fraction(terms.epsilon1) / int(weights.max())


def _kernel(
    workspace: Workspace,
    source: Source,
    hierarchies: Sequence[Hierarchy],
    levels: Sequence[int],
    domains: Sequence[Sequence[str | None]],
    random_bits: RandomBits,
    terms: Terms,
) -> Kernel:
    """Return the kernel that samples and generalizes the records, and leaves out small groups."""
    # Inner queries use only our own names, so names of source columns cannot clash.
    numbered = list(enumerate(zip(hierarchies, levels, domains, strict=True)))
    # Fresh bits do not depend on the record ids.
    keyed = source if isinstance(random_bits.bits, KeyedBits) else replace(source, record_id=())
    id_number, id_text = keyed.id_arguments
    drawn = fragment(
        "safe_k_drawn",
        values=", ".join(
            f"s.{identifier(each.attribute)} AS _priv_value{n}" for n, (each, _, _) in numbered
        ),
        id_number=id_number,
        id_text=id_text,
        source=f"{place(RECORDS)} AS s",
        stream=place("random"),
        threshold=str(math.floor(Fraction(terms.beta) * 2**64)),
        shown=", ".join(f"l{n}.generalized AS _priv_shown{n}" for n, _ in numbered),
        levels=" ".join(section("kernels", "level", n=str(n)) for n, _ in numbered),
    )
    drawing = Kernel(
        reads=source.read_types,
        select=drawn,
        random_bits={"random": random_bits.bits},
        tables={
            f"_priv_level_{n}": each.leaves(workspace, level) for n, (each, level, _) in numbered
        },
        gathers=True,
    )
    select = fragment(
        "safe_k",
        source=place(RECORDS),
        k=str(terms.k),
        published=", ".join(
            f"_priv_shown{n}::{enum(domain)} AS {identifier(each.attribute)}"
            for n, (each, _, domain) in numbered
        ),
        scale=f"{literal(1 / terms.beta)}::DOUBLE",
    )
    shown = tuple(f"_priv_shown{n}" for n, _ in numbered)
    return Kernel(
        reads={**dict.fromkeys(shown, "VARCHAR"), "_priv_size": "BIGINT"},
        select=select,
        alone=False,
        together=shown,
        before=(drawing,),
    )

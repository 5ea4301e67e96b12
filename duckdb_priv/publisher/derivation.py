"""Levels of trust: derives a noisier release from the published rows of a finer one.

Published rows have no ids. Equal rows are numbered, and the noise is keyed by the row's content and its number. So
equal rows of the next version show equal values, and deriving twice gives the same release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from duckdb_priv.engine import randomness
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import GuaranteeViolated, PublicationFailed
from duckdb_priv.ledger.entries import Charged, last_of
from duckdb_priv.ledger.rules import Charge
from duckdb_priv.mechanism.operator import invert
from duckdb_priv.methods.common.cuts import STATED
from duckdb_priv.methods.common.derivation import Asked, Coarser, coarser
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.parameters import EPSILON, RETENTION
from duckdb_priv.methods.common.perturbation import Drawn, RandomBits
from duckdb_priv.methods.common.perturbed import Perturbed, of_each, plan_of
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher import charging, steps
from duckdb_priv.publisher.intact import find_intact
from duckdb_priv.publisher.persons import stated_records
from duckdb_priv.publisher.publication import Publication
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import (
    FLAG,
    NAME,
    NUMBER,
    Alternatives,
    Arguments,
    argument,
    read,
)
from duckdb_priv.release.catalog import PublishedColumn
from duckdb_priv.release.model import Guarantee, to_json
from duckdb_priv.release.request import WORDS, Request
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.reading import count_of, types_of
from duckdb_priv.sqltext.templates import section

DERIVED = "derive"
"""The method name in the declaration of a derived release."""
ROW = "_priv_row"
"""The column that keys the noise of a row."""


@dataclass(frozen=True, kw_only=True)
class DeriveArguments(Arguments):
    """The finer release, and how coarse the new one is."""

    release: str = argument(NAME, "the finer release", "'visits_public'")
    coarser: str = argument(NAME, "the name of the coarser one", "'visits_for_all'")
    retention: float | None = argument(NUMBER, RETENTION, "0.1", default=None)
    epsilon: float | None = argument(NUMBER, EPSILON, "0.5", default=None)
    replace: bool = argument(
        FLAG, "whether a release of this name may be replaced", "true", default=False
    )

    alternatives: ClassVar = (
        Alternatives("give either a retention or an epsilon", (("retention",), ("epsilon",))),
    )


def derive(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Derive a coarser release from the rows of a finer one; the ledger charges nothing.

    Raises GuaranteeViolated if the finer release's method has no derivation, or if the requested release is not
    coarser.
    """
    (arguments,) = read(given, DeriveArguments, of="derive")
    finer = find_intact(workspace, arguments.release)
    last = last_of(workspace.cursor, finer)
    row = catalog.release_row(workspace.cursor, finer)
    request = Request(
        source=finer,
        release=arguments.coarser,
        population=last.population,
        replace=arguments.replace,
        **{name: row[name] for name in WORDS},
    )
    if finer.lower() == request.release.lower():
        raise GuaranteeViolated(
            f"{finer!r} cannot be made from itself", hint="give the coarser one another name"
        )
    method = METHODS[row["mechanism"]]
    if not method.derives:
        raise GuaranteeViolated(
            f"no coarser release can be made from one of publish_{method.name}: what its records show is not drawn for"
            " each by itself, so that no noise on top of it is that of another release",
            hint="publish the coarser one from the source, and charge it; or share this one",
        )
    asked = {"retention": arguments.retention, "epsilon": arguments.epsilon}
    stated = {"release": request.release, "source": finer, **asked}
    publication = Publication(workspace, method, request, arguments, stated, DERIVED)
    for step in DERIVING:
        step(publication)
    return [dict(publication.receipt)]


def _open_finer(p: Publication) -> None:
    """Open the rows of the finer release, with its column descriptions and labels."""
    columns = catalog.published_columns(p.workspace.cursor, p.request.source)
    p.whole = p.source = _rows_of(p.workspace, p.request.source, columns)
    p.descriptions = {of.attribute: of.description for of in columns if of.description}
    p.book = {of.attribute: dict(of.labels) for of in columns if of.labels}
    p.marked = None


def _make_coarser(p: Publication) -> None:
    """Perturb every attribute of the finer release once more."""
    workspace, source, finer = p.workspace, p.source, p.request.source
    asked = Asked(p.arguments.retention, p.arguments.epsilon)
    found = [
        coarser(each, p.release, asked, keeps_pattern=p.method.derives == p.method.name)
        for each in catalog.sensitive_attributes(workspace.cursor, finer)
    ]
    last = last_of(workspace.cursor, finer)
    draws = [
        _drawn(workspace, source, each, last.draws[each.attribute.name], number)
        for number, each in enumerate(found)
    ]
    provenance = catalog.release_row(workspace.cursor, finer)["domain_provenance"]
    columns = catalog.published_columns(workspace.cursor, finer)
    plan = _plan(workspace, p.method.derives, source, found, draws, provenance, columns)
    kept = {name: last.parameters[name] for name in STATED if name in last.parameters}
    p.plan = replace(plan, parameters={**kept, **plan.parameters})


def _charge_nothing(p: Publication) -> None:
    """Write ledger entries that add nothing."""
    nothing = Charge(f"made from {p.request.source}")
    # Both releases are about the same people.
    p.published = replace(
        last_of(p.workspace.cursor, p.request.source),
        release=p.release,
        source_version=None,
        public=p.source.public,
        mechanism=p.plan.mechanism,
        parameters=p.plan.parameters,
        max_rows=None,
    )
    p.charged = [Charged(entry, nothing, 0) for entry in p.plan.ledger]
    charging.write_entries(p)


def _declare(p: Publication) -> None:
    """Store the declaration, with the version of the finer release."""
    steps.declare(p, version_of_finer(p.workspace, p.request.source))


DERIVING: tuple[steps.PublishingStep, ...] = (
    steps.claim_name,
    _open_finer,
    _make_coarser,
    steps.promise,
    steps.write_rows,
    steps.complete_plan,
    _charge_nothing,
    steps.replace_former,
    steps.record,
    _declare,
    steps.tell,
)
"""The steps of publishing, with the rows of a release as source and without a charge."""


def version_of_finer(workspace: Workspace, release: str) -> str:
    """Return the identifier of a finer release's version; raises PublicationFailed if the release was dropped."""
    finer = catalog.known_release(workspace.cursor, release)
    if finer is None:
        raise PublicationFailed(
            f"the finer release {release!r}, from which it is made, was dropped",
            hint="it stays as it is; drop it, or publish the finer one once more",
        )
    query = "SELECT created_at::VARCHAR FROM priv.release WHERE release = ?"
    ((published_at,),) = workspace.rows(query, [finer])
    return str(published_at)


def _rows_of(workspace: Workspace, finer: str, columns: list[PublishedColumn]) -> Source:
    """Return the rows of a release as a source: columns named as attributes, plus the noise key of each row."""
    table = workspace.table(finer)
    described = types_of(workspace.cursor, table)
    of = {each.name: each for each in columns}
    listed = ", ".join(f"{identifier(name)}::VARCHAR" for name in described)
    kinds = {
        name: of[name].type if kind.startswith("ENUM") and of[name].type != "ENUM" else kind
        for name, kind in described.items()
    }
    selected = ", ".join(
        f"{identifier(name)}::{kind} AS {identifier(of[name].attribute)}"
        for name, kind in kinds.items()
    )
    rows = count_of(workspace.cursor, table)
    return Source(
        table=section(
            "publishing",
            "rows_as_records",
            columns=selected,
            texts=listed,
            row=identifiers(described),
            id=ROW,
            table=table,
        ),
        name=finer,
        types={of[name].attribute: kind for name, kind in kinds.items()} | {ROW: "VARCHAR"},
        public=tuple(of[name].attribute for name in described if of[name].role == "public"),
        sensitive=tuple(of[name].attribute for name in described if of[name].role == "sensitive"),
        record_id=(ROW,),
        origins=(),
        rows=rows,
        rows_of_person=stated_records(workspace, finer),
    )


def _drawn(
    workspace: Workspace, source: Source, coarser: Coarser, finer: str, number: int
) -> Drawn:
    """Return an attribute's draw, keyed by the definition of the ``finer`` draw and by the coarseness."""
    name = coarser.attribute.name
    domain = Domain(
        attribute=name,
        values=coarser.shown,
        counts=(0,) * len(coarser.shown),
        provenance="given",
        source_type=source.types[name],
        table=f"_priv_domain_{number}",
    )
    secret = workspace.secret()
    context = to_json(
        {
            "purpose": "a coarser release",
            "finer": finer,
            "attribute": name.lower(),
            "shown": domain.digest,
            "parameters": coarser.parameters,
        }
    )
    bits = randomness.KeyedBits.derive(secret, context)
    return coarser.draw(
        domain, RandomBits(bits, randomness.fingerprint(secret, context), fresh=False)
    )


def _plan(
    workspace: Workspace,
    mechanism: str,
    source: Source,
    found: list[Coarser],
    draws: list[Drawn],
    provenance: Mapping[str, str],
    columns: list[PublishedColumn],
) -> Plan:
    derived = Guarantee(
        "derived",
        "Made from a finer release by noise on what that shows, and by nothing else: someone with both learns no more"
        " than from the finer one.",
    )
    parameters = {
        name: of_each({each.attribute.name: each.parameters.get(name) for each in found})
        for name in found[0].parameters
    }
    perturbed = [
        Perturbed(
            draw,
            each.attribute,
            each.guarantees,
            each.epsilon,
            operator=None if each.operator is None else (invert(each.operator), each.operator),
        )
        for each, draw in zip(found, draws, strict=True)
    ]
    plan = plan_of(workspace, source, mechanism, parameters, perturbed, crowds=False)
    notes = {"derived_from": source.name}
    return replace(
        plan,
        columns={each.attribute: each.role for each in columns},
        provenance=provenance,
        guarantees=[*plan.guarantees, derived],
        ledger=[replace(entry, notes=notes) for entry in plan.ledger],
        strongest=f"{plan.strongest} {derived.statement}",
        warnings=(),
    )

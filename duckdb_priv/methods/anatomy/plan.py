"""Plan a publication by Anatomy: each record with its group, and each group with the values of its records.

This is a baseline for comparison. It publishes true values, and hides only which record of a group has which value.
Source: Xiao, Tao, "Anatomy: simple and effective privacy preservation" (VLDB 2006); ``mechanism/anatomy.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from duckdb_priv.engine.kernel import Table
from duckdb_priv.engine.marking import mark_stream
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism.anatomy import anatomy_groups
from duckdb_priv.methods.anatomy.arguments import AnatomyArguments
from duckdb_priv.methods.common.assigning import ASSIGNED, Grouping, assign
from duckdb_priv.methods.common.decoys import key_of_groups, rank_sql
from duckdb_priv.methods.common.domain import Domain, open_domains, warn_of_domain
from duckdb_priv.methods.common.republication import ledger_entries, remember
from duckdb_priv.release.model import Guarantee, group_column
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import fragment, section

MECHANISM = "anatomy"
WARNING = (
    "a baseline to compare with: the true values of every group are published, so someone who can rule out some of"
    " them for a person, or knows the other people of the group, learns the person's value"
)


def plan(workspace: Workspace, source: Source, release: str, arguments: AnatomyArguments) -> Plan:
    """Plan a release of a source by Anatomy."""
    diversity = arguments.l
    columns = _columns(source)
    domains = open_domains(workspace, source)
    grouping = Grouping(MECHANISM, diversity, "largest_first")
    marks = mark_stream(workspace) if source.record_id else None
    assigned = assign(workspace, source, domains, grouping, marks, stored=True)
    keys = [
        key_of_groups(workspace, source, domain, n, grouping, assigned)
        for n, domain in enumerate(domains)
    ]
    remember(workspace, source, domains, keys, assigned)
    attributes, tables = [], dict(assigned.kernel.tables)
    for n, (domain, key) in enumerate(zip(domains, keys, strict=True)):
        counts = assigned.answers.counts(n, domain.size, 0).sum(axis=1)
        groups = anatomy_groups(counts, diversity, key.words, domain.attribute)
        # One row per record, found by code and rank.
        tables[f"_priv_groups{n}"] = Table.of(
            {"code": groups.value, "rank": groups.rank, "number": groups.group}
        )
        numbers = {"own": (1.0,) * domain.size, "other": groups.background().tolist()}
        attributes.append(domain.as_attribute(release, "listed", numbers))
    guarantees = [guarantee_of(domain.attribute, diversity) for domain in domains]
    return Plan(
        mechanism=MECHANISM,
        parameters={"l": diversity},
        kernel=replace(assigned.kernel, select=_select(source, domains), tables=tables),
        staged=assigned.staged,
        columns=columns,
        attributes=attributes,
        provenance=dict.fromkeys(source.sensitive, "source"),
        guarantees=guarantees,
        ledger=ledger_entries(source, domains, keys),
        strongest=guarantees[0].statement,
        rows_expected=source.rows,
        warnings=[
            WARNING,
            *(warning for domain in domains for warning in warn_of_domain(domain, source)),
        ],
    )


def _columns(source: Source) -> dict[str, str]:
    """Return the role of each published column; raises InvalidSource if two would have the same name."""
    columns: dict[str, str] = {}
    public = {name.lower() for name in (*source.public, *source.sensitive)}
    for name in source.types:
        if name in source.sensitive:
            group = group_column(name)
            if group.lower() in public:
                raise InvalidSource(
                    f"column {group!r} has the same name as the column for the groups of {name!r}",
                    hint="rename it in a view, and publish the view",
                )
            columns |= {group: "group", name: "sensitive"}
        elif name in source.public:
            columns[name] = "public"
    return columns


def guarantee_of(attribute: str, diversity: int) -> Guarantee:
    """Return the guarantee of Anatomy for one attribute."""
    return Guarantee(
        "l_diversity",
        f"A record is in a group of at least {diversity} with as many different values of {attribute}: by itself the"
        f" group gives each of them 1/{diversity} at most. One of them is certain to be the true one. Someone who knows"
        " more, or learns from the other groups how the values depend on public columns, can be more certain.",
        value=1 / diversity,
        attribute=attribute,
        parameters={"l": diversity},
    )


def _select(source: Source, domains: Sequence[Domain]) -> str:
    """Return SQL for the published rows, in no particular order."""
    numbered = list(enumerate(domains))
    of_attribute = {domain.attribute: n for n, domain in numbered}
    of_public = {name: n for n, name in enumerate(source.public)}
    return fragment(
        "anatomy",
        assigned=ASSIGNED,
        ranks=", ".join(f"{rank_sql(n)} AS _rank{n}" for n, _ in numbered),
        groups=" ".join(section("kernels", "group_of_lists", n=str(n)) for n, _ in numbered),
        values=" ".join(
            section("kernels", "values_of_lists", n=str(n), domain=domain.table)
            for n, domain in numbered
        ),
        published=", ".join(
            f"g{of_attribute[name]}.number AS {identifier(group_column(name))},"
            f" v{of_attribute[name]}.listed AS {identifier(name)}"
            if name in of_attribute
            else f"_public{of_public[name]} AS {identifier(name)}"
            for name in source.types
            if name in of_attribute or name in of_public
        ),
    )

"""The steps of a publication: the same for every method, for refresh, derivation and Spark.

Each step computes attributes of a ``Publication`` from the results of earlier steps. The steps up to ``warn`` decide
everything and write only what methods remember. The previous version is dropped after the new rows are written and the
ledger is charged. One transaction contains everything: the table, its catalog rows and its macros, or nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import duckdb

from duckdb_priv.engine.byte_order import COUNTED, are_exact, counted_rows, sorted_table
from duckdb_priv.engine.drawing import is_kept_by_arrow
from duckdb_priv.engine.marking import mark_records
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, PublicationFailed, ReleaseExists, echoed
from duckdb_priv.estimator import macros, views
from duckdb_priv.ledger import entries, population
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher import absent, charging, comments, declared, persons, versions
from duckdb_priv.publisher.check.check import findings_before_publishing
from duckdb_priv.publisher.check.finding import SEVERITIES
from duckdb_priv.publisher.check.identifiers import missing_record_id
from duckdb_priv.publisher.labels import labels_of, read_labels
from duckdb_priv.publisher.publication import Publication, catalog_rows
from duckdb_priv.publisher.records import digest_of, open_records
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute, renamed_columns
from duckdb_priv.sqltext.literals import enum
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.reading import count_of, types_of

REPEATED = 4
"""Rows are counted and not sorted if each of them occurs this often."""
BYTES_OF_COUNT = 64
"""Bytes for each column of a counted row: several times those of a hash table."""
ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")
ENUM_VALUES = re.compile(r"^ENUM\(.*\)", re.DOTALL)
PublishingStep = Callable[[Publication], None]


def claim_name(p: Publication) -> None:
    """Refuse a name that is taken or belongs to another population, and a request that cannot protect a person."""
    cursor = p.workspace.cursor
    p.former = catalog.known_release(cursor, p.release)
    known = p.former is not None
    if known:
        population.refuse_other(cursor, p.release, p.request.population)
    if known and not (p.extends or p.request.replace):
        raise ReleaseExists(
            f"a release {echoed(p.release)} exists",
            hint="choose another name, or write replace := true",
        )
    # The catalog still lists tables that were dropped by hand.
    if not known and versions.existing_kind(cursor, p.workspace.database, p.release) is not None:
        raise ReleaseExists(
            f"{p.release!r} is a table that is no release",
            hint="choose another name for the release",
        )
    persons.check_request(p.method, p.request, extends=p.arguments.extends)


def open_source(p: Publication) -> None:
    """Open the source: all its records, and those to publish."""
    p.workspace.stage("reading the source")
    p.whole, p.source = open_records(p.workspace, p.request)


def check_columns(p: Publication) -> None:
    """Refuse reserved names and ids of another type, and read column descriptions and labels."""
    source = p.source
    # Checked before anything is computed; names that a plan adds are checked when it is written.
    renamed_columns(
        dict.fromkeys(source.public, "public") | dict.fromkeys(source.sensitive, "sensitive")
    )
    p.book = read_labels(p.workspace, source, p.request.labels)
    p.descriptions = comments.of_source(p.workspace, source)
    population.refuse_other_types(
        p.workspace.cursor,
        p.request.population,
        source.record_id,
        tuple(source.types[name] for name in source.record_id),
    )


def mark(p: Publication) -> None:
    """Mark the records, so that the ledger recognizes them later."""
    p.workspace.stage("marking records")
    p.marked = mark_records(p.workspace, p.source)


def make_plan(p: Publication) -> None:
    """Let the method plan the rows, and refuse to redraw all records of a release."""
    p.workspace.stage("planning")
    if not p.extends:
        Memory(p.workspace, p.release).forget()
    make = p.method.follow if p.remembered else p.method.plan
    try:
        plan = make(p.workspace, p.source, p.release, p.arguments)
    except InvalidParameter as error:
        if p.follows is None:
            raise
        # A refresh takes no arguments, which the hint of the error is about.
        raise PublicationFailed(
            f"the next version of {p.release!r} cannot be published with its arguments: {error.message}",
            hint=f"publish it once more with replace := true and other arguments: {error.hint}",
        ) from error
    if p.follows:
        p.follows.check(p.workspace, plan, p.marked)
    p.plan = versions.with_comparison(p.method, plan)


def check_values(p: Publication) -> None:
    """Check what public columns reveal, and whether one id has several spellings."""
    p.workspace.stage("checking the columns")
    p.findings = findings_before_publishing(
        p.workspace,
        p.source,
        p.request.public or (),
        shows_public="public" in p.plan.columns.values(),
    )
    if not p.request.record_id and not p.method.whole_records:
        p.findings = [*p.findings, *missing_record_id()]


def promise(p: Publication) -> None:
    """Compute the guarantees for people, and the statement about records left out."""
    earlier = 0
    if p.extends and not p.remembered:
        extended = catalog.find_release(p.workspace.cursor, p.release)
        earlier = persons.earlier_records(p.workspace, extended, p.request)
    plan = p.plan
    p.promised = persons.guarantees_of_persons(plan, p.source, earlier)
    before = absent.stated_before(p.workspace.cursor, p.release) if p.follows else []
    p.absent = absent.records_left_out(
        p.workspace, p.request, plan, p.whole, p.source, waits=p.remembered, earlier=before
    )
    missing = p.absent.guarantees if p.absent else []
    stated = [each.statement for each in p.promised if each.name != persons.RECORDS]
    p.plan = replace(
        plan,
        guarantees=[*plan.guarantees, *p.promised, *missing],
        strongest=" ".join([plan.strongest, *stated]),
    )


def warn(p: Publication) -> None:
    """Collect the warnings of the receipt. Blockers come first: the publisher named their columns as public."""
    blockers, others, p.notes = (
        [each.what for each in p.findings if each.severity == severity] for severity in SEVERITIES
    )
    p.warnings = [
        *(f"named in public := […]: {each}" for each in blockers),
        *persons.warnings_of_nothing(p.plan, p.promised),
        *charging.warnings_of_charges(p),
        *absent.warnings_of_absence(p.plan, p.whole, p.source),
        *persons.warnings_of_persons(p.source, p.request),
        *others,
    ]


def write_rows(p: Publication) -> None:
    """Write the rows in the order of their own columns, next to the previous version's table."""
    p.workspace.stage("drawing values")
    cursor, earlier = p.workspace.cursor, p.plan.earlier
    room = p.workspace.room(p.plan.rows_expected or 0)
    counting = None if earlier else partial(_counting, p)
    with p.kernel.opened(cursor, p.source.table, p.plan.staged, room, counting=counting) as rows:
        select = f"FROM ({rows}) UNION ALL BY NAME {earlier}" if earlier else rows
        types = types_of(cursor, f"({select})")
        counted = types.pop(COUNTED, None) is not None
        if not counted and _rows_repeat(p, types):
            select, counted = counted_rows(select), True
        cursor.execute(sorted_table(p.rows, select, types, counted=counted))
    public = (name for name, role in p.plan.columns.items() if role == "public")
    p.types = _narrow(p.workspace, p.rows, types, public)


def complete_plan(p: Publication) -> None:
    """Count the written rows, and complete the plan with the counts.

    Raises PublicationFailed if there are no rows, or another number than planned.
    """
    plan = p.plan
    p.rows_published = count_of(p.workspace.cursor, p.rows)
    if plan.rows_expected is not None and p.rows_published != plan.rows_expected:
        raise PublicationFailed(
            f"{p.request.source!r} changed while it was being published",
            hint="nothing was kept; publish a table, or a view whose rows do not change",
        )
    if p.rows_published == 0:
        raise PublicationFailed(
            "every record was left out, so nothing was published",
            hint="take coarser levels, a smaller k or a larger beta",
        )
    if plan.complete is not None:
        p.plan = plan.complete(plan, _histograms(p.workspace, p.rows, plan))
    p.labels, left_out = labels_of(p.workspace, p.request.labels, p.book, p.plan, p.rows)
    p.warnings += [
        *p.plan.warnings,
        *left_out,
        *_warn_of_mixture(p),
        *charging.warnings_of_shared_ids(p),
    ]
    p.version = versions.version_of(p.workspace, p.release, p.former, p.rows, p.plan, p.follows)


def replace_former(p: Publication) -> None:
    """Drop the previous version, and give its name to the new table."""
    if p.former is not None:
        drop(p.workspace, p.former)
    p.workspace.cursor.execute(f"ALTER {p.kind} {p.rows} RENAME TO {identifier(p.release)}")


def record(p: Publication) -> None:
    """Write the catalog rows, and the macros that count the release."""
    p.workspace.stage("writing the catalog")
    catalog.write(p.workspace.cursor, catalog_rows(p, _described_types(p.types, p.plan)))
    attributes = catalog.sensitive_attributes(p.workspace.cursor, p.release)
    macros.add(p.workspace.cursor, p.release, attributes)
    describe(p.workspace, p.release, attributes, p.kind)


def declare(
    p: Publication, digest: str | None = None, frame: Mapping[str, Any] | None = None
) -> None:
    """Store the declaration of the release, so that its next version can be published."""
    declared.keep(
        p.workspace,
        p.declared_as,
        p.given,
        p.version.number,
        digest or digest_of(p.workspace, p.source),
        extends=p.arguments.extends,
        frame=frame,
    )


def tell(p: Publication) -> None:
    """Write the receipt."""
    p.receipt = {
        "release": p.release,
        "mechanism": p.plan.mechanism,
        "rows_source": p.whole.rows,
        "rows_published": p.rows_published,
        "rows_suppressed": _suppressed(p),
        "guarantee": " ".join([p.plan.strongest, *_column_sentences(p.plan)]),
        "ledger": entries.receipt(p.workspace.cursor, p.published.population, p.release),
        "warnings": p.warnings,
        "notes": p.notes,
    }


DECIDING: tuple[PublishingStep, ...] = (
    claim_name,
    open_source,
    check_columns,
    mark,
    make_plan,
    charging.look_up,
    check_values,
    promise,
    warn,
)
WRITING: tuple[PublishingStep, ...] = (
    write_rows,
    complete_plan,
    charging.charge,
    replace_former,
    record,
    declare,
    tell,
)
STEPS = (*DECIDING, *WRITING)


def describe(
    workspace: Workspace, release: str, attributes: Sequence[SensitiveAttribute], kind: str
) -> None:
    """Write the comments on a published table or view, and create its tables of estimates."""
    macros.run(workspace.cursor, comments.statements(workspace.cursor, release, attributes, kind))
    views.create_sensitive_tables(workspace.cursor, attributes)


def drop(workspace: Workspace, release: str) -> None:
    """Drop the tables, macros and catalog rows of a release. The ledger keeps its entries."""
    views.drop_sensitive_tables(workspace.cursor, release)
    macros.drop_own(workspace.cursor, release)
    if kind := versions.existing_kind(workspace.cursor, workspace.database, release):
        workspace.cursor.execute(f"DROP {kind} {workspace.table(release)}")
    catalog.forget(workspace.cursor, release)


def _distinct_rows(p: Publication, types: Mapping[str, str]) -> float:
    """Return the most distinct rows that there can be; infinite unless the groups of the source were counted."""
    groups = p.workspace.groups.get((p.source.table, *p.source.public))
    public = [name for name, role in p.plan.columns.items() if role == "public"]
    noisy = [kind for name, kind in types.items() if name not in public]
    if groups is None or public != [*p.source.public] or not all(map(ENUM.fullmatch, noisy)):
        return math.inf
    values = (len(cast("list[str]", duckdb.type(kind).children[0][1])) for kind in noisy)
    return groups * math.prod(values) if are_exact(types) else math.inf


def _rows_repeat(p: Publication, types: Mapping[str, str]) -> bool:
    """Return whether each row is published REPEATED times on average."""
    return REPEATED * _distinct_rows(p, types) <= p.source.rows


def _counting(p: Publication, rows: str) -> Mapping[str, str] | None:
    """Return the types of rows that repeat, if Arrow holds their values exactly and their counts fit in memory."""
    types = types_of(p.workspace.cursor, f"({rows})")
    held = all(ENUM.fullmatch(kind) or is_kept_by_arrow(kind) for kind in types.values())
    fits = p.workspace.fits_in_memory(BYTES_OF_COUNT * len(types) * _distinct_rows(p, types))
    return types if held and fits and _rows_repeat(p, types) else None


def _narrow(
    workspace: Workspace, table: str, types: Mapping[str, str], columns: Iterable[str]
) -> dict[str, str]:
    """Remove unused values from the ENUM types of columns, and return the types of all columns.

    Rows keep their order. An ENUM within a list or a struct becomes text.
    """
    found = dict(types)
    for column in columns:
        if not ENUM.search(types[column]):
            continue
        name = identifier(column)
        if ENUM.fullmatch(types[column]):
            values = [
                text
                for (text,) in workspace.rows(
                    f"SELECT {name}::VARCHAR FROM {table} WHERE {name} IS NOT NULL"
                    f" GROUP BY {name} ORDER BY {name}"
                )
            ]
            found[column] = enum(values) if values else "VARCHAR"
        else:
            found[column] = ENUM.sub("VARCHAR", types[column])
        if found[column] != types[column]:
            workspace.cursor.execute(f"ALTER TABLE {table} ALTER {name} TYPE {found[column]}")
    return found


def _described_types(types: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Return the column types for the catalog: attributes have their source type, and ENUM has no value list.

    Block numbers are INTEGER.
    """
    of_column = {of.column: "INTEGER" if of.blocks else of.type for of in plan.attributes}
    described = {}
    for name, kind in types.items():
        values = ENUM_VALUES.match(kind)
        described[name] = of_column.get(name, "ENUM") + kind[values.end() :] if values else kind
    return described


def _histograms(workspace: Workspace, target: str, plan: Plan) -> dict[str, dict[str | None, int]]:
    """Return, by sensitive attribute, the number of published rows with each value."""
    return {
        attribute: dict(
            workspace.rows(
                f"SELECT value::VARCHAR, rows FROM (SELECT {identifier(column)} AS value, count(*) AS rows"
                f" FROM {target} GROUP BY ALL)"
            )
        )
        for attribute, column in renamed_columns(plan.columns).items()
    }


def _column_sentences(plan: Plan) -> list[str]:
    """Return the sentence of the receipt that names the noisy columns."""
    columns = list(renamed_columns(plan.columns).values())
    if not columns:
        return []
    listed = " and ".join(columns)
    return [f"The noisy values are in the column{'s' if len(columns) > 1 else ''} {listed}."]


def _suppressed(p: Publication) -> int | None:
    """Return the number of unpublished records; None if it must stay secret."""
    rows, plan = p.whole.rows, p.plan
    if plan.sample:
        return None
    return rows - (p.rows_published if plan.left_out is None else p.source.rows - plan.left_out)


def _warn_of_mixture(p: Publication) -> list[str]:
    """Return warnings if a population has releases both with and without differential privacy of whole records."""
    rows = p.workspace.rows(
        "SELECT DISTINCT mechanism FROM priv.ledger WHERE population = ?", [p.source.population]
    )
    mechanisms = sorted({p.plan.mechanism, *(name for (name,) in rows)})
    hiding = [name for name in mechanisms if name in METHODS and METHODS[name].whole_records]
    others = [name for name in mechanisms if name not in hiding]
    if not hiding or not others:
        return []
    return [
        f"population {p.source.population!r} has been published by {' and '.join(hiding)} and by"
        f" {' and '.join(others)}: the others do not hide whether a record is there, so together the releases have no"
        " (epsilon, delta) for whole records"
    ]

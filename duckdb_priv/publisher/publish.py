"""One release, one transaction: the table, its catalog rows and its macros, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from duckdb_priv.engine import drawing
from duckdb_priv.engine.byte_order import total_order
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import mark_records
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import PublicationFailed, ReleaseExists, echoed
from duckdb_priv.estimator import macros, views
from duckdb_priv.ledger import counts, entries, population
from duckdb_priv.ledger.budget import require_budget
from duckdb_priv.ledger.counts import NoisyCount
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher import absent, comments, persons, versions
from duckdb_priv.publisher.charging import Charging, decide, open_charging
from duckdb_priv.publisher.check.check import findings_before_publishing
from duckdb_priv.publisher.check.record_ids import missing_record_id
from duckdb_priv.publisher.comments import SCHEMA
from duckdb_priv.publisher.comparing import told_of_comparing
from duckdb_priv.publisher.declared import declare, forget, words_kept
from duckdb_priv.publisher.declared import find as find_declared
from duckdb_priv.publisher.dictionaries import narrow
from duckdb_priv.publisher.labels import CodeBook, labels_of, read_labels
from duckdb_priv.publisher.recording import write_catalog
from duckdb_priv.publisher.records import digest_of, open_records
from duckdb_priv.publisher.succession import Succession
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import read
from duckdb_priv.release.model import SensitiveAttribute, renamed_columns, to_json
from duckdb_priv.release.request import ReleaseName, Request
from duckdb_priv.sqltext.quoting import identifier

ENUM_VALUES = re.compile(r"^ENUM\(.*\)", re.DOTALL)


@dataclass(frozen=True)
class Prepared:
    """A publication that is decided, of which no row is written yet."""

    method: Method
    request: Request
    whole: Source
    """All records."""
    source: Source
    """Those that enter: of each person at most ``max_rows``."""
    charging: Charging
    """What the ledger has to say of it."""
    price: NoisyCount | None
    """What the noisy counts of records that are left out cost."""
    plan: Plan
    warnings: Sequence[str]
    book: CodeBook
    """What codes mean, as the publisher says."""
    before: versions.Previous | None
    """The version that is in the database."""

    @property
    def kernel(self) -> Kernel:
        """What gives the rows, under the names that are published."""
        return self.plan.kernel.renamed(renamed_columns(self.plan.columns))


def publish(
    method: Method,
    workspace: Workspace,
    given: Mapping[str, Any],
    follows: Succession | None = None,
) -> list[dict[str, Any]]:
    """Publish a source by a method, inside the transaction that is open in the workspace.

    ``follows`` is known where it is the next version of a release. Raises ReleaseExists if the name is taken, and
    PublicationFailed if the rows that were written are not as many as the plan says, or none.
    """
    request, arguments = method.read(given)
    declared = find_declared(workspace.cursor, request.release)
    if kept := words_kept(request, declared):
        request, given = replace(request, **kept), {**given, **kept}
    prepared = prepare(method, workspace, request, arguments, follows=follows)
    plan = prepared.plan
    workspace.stage("drawing values")
    target = f"{identifier(workspace.database)}.{SCHEMA}.{identifier(request.release)}"
    types = create_table(workspace, plan, target, prepared.source.table)
    receipt = record(workspace, prepared, target, types)
    declare(
        workspace,
        method.name,
        given,
        catalog.version(workspace.cursor, request.release),
        digest_of(workspace, prepared.source),
        declared,
        extends=arguments.extends,
    )
    introduce(workspace, request.release)
    return [receipt]


def prepare(
    method: Method,
    workspace: Workspace,
    request: Request,
    arguments: Any,
    *,
    opening: Callable[[Workspace, Request], tuple[Source, Source]] = open_records,
    follows: Succession | None = None,
) -> Prepared:
    """Decide everything about a publication, after all that is to be refused was looked for.

    ``opening`` gives all records of the source, and those that enter.
    """
    population.refuse_other(workspace.cursor, request.release, request.population)
    before = versions.previous(workspace, request.release)
    said_absent = absent.said_before(workspace.cursor, request.release) if follows else None
    remembered = follows is not None and follows.remembered
    extends = arguments.extends or remembered
    if not extends:
        make_room(workspace, request)
    persons.check_request(method, request, extends=arguments.extends)
    workspace.stage("reading the source")
    whole, source = opening(workspace, request)
    # Before anything is computed; the names that a plan adds are looked at when it is written.
    renamed_columns(
        dict.fromkeys(source.public, "public") | dict.fromkeys(source.sensitive, "sensitive")
    )
    book = read_labels(workspace, source, request.labels)
    population.refuse_other_types(
        workspace.cursor,
        request.population,
        source.record_id,
        tuple(source.types[name] for name in source.record_id),
    )
    workspace.stage("marking records")
    marked = mark_records(workspace, source)
    workspace.stage("planning")
    make = method.follow if remembered else method.plan
    plan = make(workspace, source, request.release, arguments)
    if follows:
        follows.check(workspace, plan, marked)
        said = (plan.mechanism, to_json(plan.parameters))
        before = before and replace(
            before, rows_moved=follows.rows_moved, rows_placed=follows.rows_placed, said=said
        )
    charging = open_charging(
        workspace, method, request, source, plan, marked, arguments, extends=extends
    )
    workspace.stage("checking the columns")
    findings = (
        findings_before_publishing(workspace, source, request.public or ())
        if "public" in plan.columns.values()
        else []
    )
    earlier = 0
    if extends:
        extended = catalog.find_release(workspace.cursor, request.release)
        if not remembered:
            earlier = persons.earlier_records(workspace, extended, request)
        drop(workspace.cursor, workspace.database, extended)
    plan = told_of_comparing(method, plan)
    of_persons = persons.guarantees_of_persons(plan, source, earlier)
    missing = absent.records_left_out(
        workspace, request, plan, whole, source, waits=remembered, earlier=said_absent
    )
    plan = replace(
        plan,
        guarantees=[
            *plan.guarantees,
            *of_persons,
            *([missing.guarantee] if missing else []),
        ],
        strongest=" ".join(
            [
                plan.strongest,
                *(each.statement for each in of_persons if each.name != persons.RECORDS),
            ]
        ),
    )
    if not request.record_id and not method.whole_records:
        findings = [*findings, *missing_record_id()]
    # A blocker is here where its columns were named, so it comes before all other warnings.
    named = [each.what for each in findings if each.severity == "blocker"]
    warnings = [
        *named,
        *persons.warnings_of_nothing(plan, of_persons),
        *charging.warnings,
        *absent.warnings_of_absence(plan, whole, source),
        *persons.warnings_of_persons(source, request),
        *(each.what for each in findings if each.severity == "warning"),
    ]
    price = missing.price if missing else None
    return Prepared(method, request, whole, source, charging, price, plan, warnings, book, before)


def record(
    workspace: Workspace, prepared: Prepared, target: str, types: Mapping[str, str]
) -> dict[str, Any]:
    """Write the catalog and the ledger of rows that were written, and return the receipt.

    ``target`` is the table expression of the rows, ``types`` those of its columns.
    """
    request, source, plan = prepared.request, prepared.source, prepared.plan
    (published,) = workspace.rows(f"SELECT count(*) FROM {target}")[0]
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
    if plan.complete is not None:
        plan = plan.complete(plan, histograms(workspace, target, plan))
    workspace.stage("writing the catalog")
    labels, left_out = labels_of(workspace, request.labels, prepared.book, plan, target)
    charged, changes = decide(workspace, prepared.charging, plan)
    warnings = [
        *prepared.warnings,
        *plan.warnings,
        *changes,
        *left_out,
        *_warn_of_mixture(workspace, source, plan),
    ]
    time = write_catalog(
        workspace.cursor,
        request,
        versions.version_of(workspace, request.release, target, plan, prepared.before),
        plan,
        described_types(types, plan),
        published,
        warnings,
        comments.of_source(workspace, source),
        labels,
    )
    charging = prepared.charging
    entries.write(workspace.cursor, charging.publication, charged, charging.marked, time)
    if prepared.price:
        counts.charge(workspace.cursor, source.population, request.release, prepared.price, time)
    require_budget(workspace.cursor, source.population, request.release)
    spent = entries.total(workspace.cursor, source.population, request.release)
    rows = prepared.whole.rows
    return {
        "release": request.release,
        "mechanism": plan.mechanism,
        "rows_source": rows,
        "rows_published": published,
        "rows_suppressed": _suppressed(plan, rows, source.rows, published),
        "guarantee": " ".join([plan.strongest, *_told_of_columns(plan)]),
        "ledger": entries.described(spent, source.population),
        "warnings": warnings,
    }


def introduce(workspace: Workspace, release: str, kind: str = "TABLE") -> None:
    """Create the functions by which a release that was just recorded is counted, and write what it says of itself."""
    attributes = catalog.sensitive_attributes(workspace.cursor, release)
    macros.add(workspace.cursor, release, attributes)
    describe(workspace, release, attributes, kind)


def describe(
    workspace: Workspace, release: str, attributes: Sequence[SensitiveAttribute], kind: str
) -> None:
    """Write what a published table, or a view of it, says of itself, and create what is read beside it."""
    for statement in comments.statements(workspace.cursor, release, attributes, kind):
        workspace.cursor.execute(statement)
    views.create_sensitive_tables(workspace.cursor, attributes)


def create_table(workspace: Workspace, plan: Plan, target: str, records: str) -> dict[str, str]:
    """Write the rows of a plan over a table expression, in the order of their own columns; return their types."""
    kernel = plan.kernel.renamed(renamed_columns(plan.columns))
    expected = plan.rows_expected or 0
    room = (lambda each: workspace.has_room(expected * each)) if expected > drawing.FEW else None
    with kernel.opened(workspace.cursor, records, plan.staged, room) as rows:
        select = f"FROM ({rows}) UNION ALL BY NAME {plan.earlier}" if plan.earlier else rows
        types = {row[0]: row[1] for row in workspace.rows(f"DESCRIBE FROM ({select})")}
        workspace.cursor.execute(
            f"CREATE TABLE {target} AS FROM ({select}) ORDER BY {total_order(types)}"
        )
    return narrow(
        workspace, target, types, (name for name, role in plan.columns.items() if role == "public")
    )


def described_types(types: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Return types as the catalog says them: attributes have that of the source, and ENUM without its values.

    The number of a block is an INTEGER.
    """
    of_column = {of.column: "INTEGER" if of.blocks else of.type for of in plan.attributes}
    described = {}
    for name, kind in types.items():
        values = ENUM_VALUES.match(kind)
        described[name] = of_column.get(name, "ENUM") + kind[values.end() :] if values else kind
    return described


def histograms(workspace: Workspace, target: str, plan: Plan) -> dict[str, dict[str | None, int]]:
    """Count, by sensitive attribute, the published rows that show each value."""
    return {
        attribute: dict(
            workspace.rows(
                f"SELECT value::VARCHAR, rows FROM (SELECT {identifier(column)} AS value, count(*) AS rows"
                f" FROM {target} GROUP BY ALL)"
            )
        )
        for attribute, column in renamed_columns(plan.columns).items()
    }


def _told_of_columns(plan: Plan) -> list[str]:
    """Say where what records report is found, which is not what is true of them."""
    columns = list(renamed_columns(plan.columns).values())
    if not columns:
        return []
    listed = " and ".join(columns)
    return [f"The noisy values are in the column{'s' if len(columns) > 1 else ''} {listed}."]


def _suppressed(plan: Plan, rows: int, entering: int, published: int) -> int | None:
    """Count the records that are not published, unless that must be kept secret.

    ``entering`` are those that ``max_rows`` leaves.
    """
    if plan.sample:
        return None
    return rows - published if plan.left_out is None else rows - entering + plan.left_out


def _warn_of_mixture(workspace: Workspace, source: Source, plan: Plan) -> list[str]:
    """Say where a population is published with and without differential privacy of whole records."""
    (mechanisms,) = workspace.rows(
        "SELECT list(DISTINCT mechanism ORDER BY mechanism) FROM priv.ledger WHERE population = ?",
        [source.population],
    )[0]
    mechanisms = sorted({*(mechanisms or ()), plan.mechanism})
    hiding = [name for name in mechanisms if name in METHODS and METHODS[name].whole_records]
    others = [name for name in mechanisms if name not in hiding]
    if not hiding or not others:
        return []
    return [
        f"population {source.population!r} has been published by {' and '.join(hiding)} and by {' and '.join(others)}:"
        " the others do not hide whether a record is there, so together the releases have no (epsilon, delta) for whole"
        " records"
    ]


def make_room(workspace: Workspace, request: Request) -> None:
    """Refuse a name that is taken, or drop the release that is to be replaced."""
    known = {name.lower(): name for name in catalog.releases(workspace.cursor)}
    # Of a table that was dropped by hand the catalog still speaks.
    release = known.get(request.release.lower())
    if release is None:
        if versions.standing(workspace.cursor, workspace.database, request.release) is None:
            return
        raise ReleaseExists(
            f"{request.release!r} is a table that is no release",
            hint="choose another name for the release",
        )
    if not request.replace:
        raise ReleaseExists(
            f"a release {echoed(request.release)} exists",
            hint="choose another name, or write replace := true",
        )
    drop(workspace.cursor, workspace.database, release)
    Memory(workspace, release).forget()


def drop(cursor: duckdb.DuckDBPyConnection, database: str, release: str) -> None:
    """Drop the tables of a release and its public rows; the ledger keeps what was published."""
    views.drop_sensitive_tables(cursor, release)
    macros.drop_own(cursor, release)
    if kind := versions.standing(cursor, database, release):
        cursor.execute(f"DROP {kind} {identifier(database)}.{SCHEMA}.{identifier(release)}")
    catalog.forget(cursor, release)


def drop_release(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Drop a release; what was handed out stays handed out, and in the ledger."""
    (arguments,) = read(given, ReleaseName, of="drop_release")
    release = catalog.find_release(workspace.cursor, arguments.release)
    drop(workspace.cursor, workspace.database, release)
    Memory(workspace, release).forget()
    forget(workspace.cursor, release)
    macros.remove(workspace.cursor)
    return [{"release": release}]

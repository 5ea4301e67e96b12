"""Compares the answers of releases to a workload with the true counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.evaluation.answers import Reader, count, open_reader, open_workload, reconstruct
from duckdb_priv.evaluation.workload import DrawArguments, draw
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.methods.common.cuts import as_published
from duckdb_priv.methods.common.hierarchy import generalize
from duckdb_priv.methods.common.memory import Memory
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import (
    ANYTHING,
    COLUMNS,
    NAME,
    NUMBER,
    TABLE,
    Arguments,
    argument,
    read,
    whole,
)
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.reading import count_of, make_table, named_rows
from duckdb_priv.sqltext.templates import section

EVALUATION = "_priv_evaluation"
"""Temporary table with one row per release and query."""
ENTERED = "_priv_entered_ids"
"""Temporary table of the ids of the records that entered a release."""


@dataclass(frozen=True, kw_only=True)
class EvaluationArguments(Arguments):
    """The releases, the table with the truth, and the workload."""

    source: str = argument(NAME, "the table with the truth", "'visits'")
    release: tuple[str, ...] = argument(
        COLUMNS, "the release, or a list of them", "'visits_public'", missing="no release is named"
    )
    workload: str | None = argument(TABLE, "the table of questions", "'workload'", default=None)
    queries: int = argument(
        whole(1), "how many queries are drawn where there is no workload", "1000", default=5000
    )
    seed: Any = argument(ANYTHING, "what the draw depends on", "0", default=0)
    hierarchies: str | None = argument(
        TABLE, "the hierarchies that generalized releases were made with", "'table'", default=None
    )
    method: str = argument(NAME, "how counts are reconstructed", "'inverse'", default="inverse")
    confidence: float = argument(NUMBER, "the confidence of the intervals", "0.95", default=0.95)


@dataclass(frozen=True, kw_only=True)
class SummaryArguments(EvaluationArguments):
    """An evaluation, and the largest small count."""

    small_counts: int = argument(
        whole(0), "the largest count that is called small", "10", default=10
    )


def evaluate(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Answer a workload from releases and from the source; return one row per release and query."""
    (arguments,) = read(given, EvaluationArguments, of="evaluate")
    compare(workspace, arguments)
    return named_rows(workspace.cursor, section("evaluation/workload", "answers"))


def evaluation_summary(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Summarize an evaluation, by selectivity and for small counts."""
    (arguments,) = read(given, SummaryArguments, of="evaluation_summary")
    source = compare(workspace, arguments)
    limits = {"rows": str(source.rows), "small": str(arguments.small_counts)}
    return named_rows(workspace.cursor, section("evaluation/workload", "summary", **limits))


def compare(workspace: Workspace, arguments: EvaluationArguments) -> Source:
    """Answer a workload, and write the answers with the true counts to EVALUATION."""
    readers = [
        open_reader(workspace.cursor, catalog.find_release(workspace.cursor, name))
        for name in arguments.release
    ]
    source = _open_source(workspace, arguments, readers)
    _take_workload(workspace, arguments, source, readers)
    workspace.stage("counting the truth")
    _count_what_entered(workspace, arguments, readers)
    count(workspace.cursor, source)
    workspace.stage("asking the releases")
    reconstruct(
        workspace.cursor,
        readers,
        method=arguments.method,
        confidence=arguments.confidence,
    )
    make_table(workspace.cursor, EVALUATION, section("evaluation/workload", "beside"))
    return source


def _open_source(
    workspace: Workspace,
    arguments: EvaluationArguments,
    readers: Sequence[Reader],
    entered: Source | None = None,
) -> Source:
    """Open the table with the truth, or use ``entered``, the records that entered a release.

    Its public columns are those that all releases publish unperturbed, since conditions must be about these.
    """
    source = entered or open_source(workspace, arguments.source, Roles())
    source = as_published(workspace, source, *(reader.release for reader in readers))
    if arguments.hierarchies is not None:
        levels = levels_of(workspace, readers)
        source = generalize(workspace, source, arguments.hierarchies, levels)
    published = [{name.lower() for name in reader.types} for reader in readers]
    sensitive = [{each.name.lower() for each in reader.attributes} for reader in readers]
    return replace(
        source,
        public=_within(source.types, set.intersection(*published)),
        sensitive=_within(source.types, set.union(*sensitive)),
    )


def _count_what_entered(
    workspace: Workspace, arguments: EvaluationArguments, readers: Sequence[Reader]
) -> None:
    """Compute true counts among the entered records, for each release that leaves records out.

    ``_priv_entered`` has a row for each such release and query.
    """
    workspace.cursor.execute(section("evaluation/workload", "entered"))
    for reader in readers:
        entered = entered_records(
            workspace, open_source(workspace, arguments.source, Roles()), reader
        )
        if entered is None:
            continue
        count(workspace.cursor, _open_source(workspace, arguments, readers, entered))
        query = section("evaluation/workload", "count_entered")
        workspace.cursor.execute(query, [reader.release])


def entered_records(workspace: Workspace, source: Source, reader: Reader) -> Source | None:
    """Return the records of a source that entered a release; None if all did, or if the source lacks their ids.

    ``max_rows`` leaves records out, and new records of a later version may not be published yet.
    """
    release, cursor = reader.release, workspace.cursor
    last = last_of(cursor, release)
    remembered = bool(last.record_id) and bool(Memory(workspace, release))
    sensitive = {each.name for each in reader.attributes}
    needed = {*last.record_id, *last.person, *sensitive}
    if (last.max_rows is None and not remembered) or not needed <= {*source.types}:
        return None
    columns = catalog.published_columns(cursor, release)
    source = replace(
        source,
        public=_within(
            source.types, {each.attribute.lower() for each in columns if each.role == "public"}
        ),
        sensitive=_within(source.types, {each.lower() for each in sensitive}),
        record_id=last.record_id,
        person=last.person,
        population=last.population,
    )
    if last.max_rows is not None:
        source = count_persons(workspace, source, last.max_rows)
    if not remembered:
        return source
    method = METHODS[catalog.release_row(cursor, release)["mechanism"]]
    ids = method.entered(workspace, source, release)
    make_table(cursor, ENTERED, ids)
    ids = identifiers(last.record_id)
    table = section("kernels", "entered", source=source.table, ids=ids)
    return replace(source, table=table, rows=count_of(cursor, table))


def levels_of(workspace: Workspace, readers: Sequence[Reader]) -> dict[str, int]:
    """Return the levels of the columns of generalized releases, which must be the same for all."""
    names = [reader.release for reader in readers]
    found = [
        catalog.release_row(workspace.cursor, name)["parameters"].get("levels") for name in names
    ]
    if None in found:
        raise InvalidParameter(
            f"release {names[found.index(None)]!r} is not generalized, so it has no hierarchies",
            hint="leave hierarchies out, and evaluate generalized releases separately",
        )
    if any(levels != found[0] for levels in found):
        raise InvalidParameter(
            "the releases are generalized to different levels", hint="evaluate them one by one"
        )
    return dict(found[0])


def _within(names: Iterable[str], known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.lower() in known)


def _take_workload(
    workspace: Workspace,
    arguments: EvaluationArguments,
    source: Source,
    readers: Sequence[Reader],
) -> None:
    """Load the named workload, or draw one about columns that all releases publish."""
    if arguments.workload is not None:
        open_workload(workspace, arguments.workload)
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
        workspace.cursor,
        replace(source, sensitive=asked),
        DrawArguments(queries=arguments.queries, seed=arguments.seed),
    )

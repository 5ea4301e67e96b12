"""Publishes and refreshes a release from a data frame: ``duckdb_priv.spark.publish`` and ``refresh``.

A publication has three steps: plan, let Spark write the rows, record. The plan is rolled back and made again in the
last step from the same results of Spark. So no transaction waits for a Spark job, and later publications count. The
ledger's entries are committed before the files are moved to their target. A run that ends earlier leaves at most
hidden files, which the next run removes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from duckdb_priv import errors
from duckdb_priv.card.report import analyst_card
from duckdb_priv.engine.byte_order import sorted_table
from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.marking import mark_stream
from duckdb_priv.engine.procedures import undone, working
from duckdb_priv.engine.randomness import FreshBits
from duckdb_priv.engine.source import is_one_of
from duckdb_priv.engine.workspace import SCHEMA, Caller, Workspace
from duckdb_priv.errors import (
    InvalidParameter,
    PrivError,
    PublicationFailed,
    echoed,
)
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher import declared, page, placing, steps
from duckdb_priv.publisher import refresh as refresh_steps
from duckdb_priv.publisher.declared import Declared
from duckdb_priv.publisher.export import PAGE, refuse_for_parquet, write_catalog
from duckdb_priv.publisher.publication import Publication
from duckdb_priv.publisher.publish import begin
from duckdb_priv.publisher.records import entering
from duckdb_priv.publisher.steps import PublishingStep
from duckdb_priv.publisher.versions import succeed
from duckdb_priv.release import catalog
from duckdb_priv.release.request import Request
from duckdb_priv.spark.aggregates import frame_of
from duckdb_priv.spark.files import Transfer, in_duckdb
from duckdb_priv.spark.frame import SparkFrame, open_frame, refuse_foreign
from duckdb_priv.spark.places import Here, Place, place_of
from duckdb_priv.spark.plans import refuse_unstable
from duckdb_priv.spark.settings import by_records, configured
from duckdb_priv.spark.source import first_reading, open_source, open_table
from duckdb_priv.spark.tasks import Setting
from duckdb_priv.spark.writing import FILES, write_rows
from duckdb_priv.sqltext.literals import looked_up
from duckdb_priv.sqltext.quoting import identifier, in_types
from duckdb_priv.sqltext.reading import types_of

OURS = re.compile(r"duckdb_priv\.errors\.(\w+): (.*?)(?:\nHint: ([^\n]*))?(?:\n|$)")
"""An error of this package inside the text of one of Spark's errors."""
UNSEEN = re.compile(r"-[0-9a-f]{32}\.partial/")
"""The path of a recorded release's rows before they are moved to their target."""
STOPPED = re.compile(
    r"stopped SparkContext|SparkContext was shut down|NO_ACTIVE_SESSION|SESSION_CLOSED"
)
UNREACHED = re.compile(
    r"Mkdirs failed to create|FileNotFoundException|FILE_NOT_EXIST|AccessDenied|Permission denied"
)
"""Spark's messages about folders that an executor cannot see or write."""
STAGING = "staging"
"""The folder, beside the rows, for files that Spark and DuckDB exchange."""


def publish(
    connection: duckdb.DuckDBPyConnection,
    frame: DataFrame | SparkSession,
    method: str,
    *,
    source: str,
    release: str,
    path: str | Path,
    types: Mapping[str, str] | None = None,
    checked: bool = False,
    **arguments: Any,
) -> dict[str, Any]:
    """Publish a data frame with a method, and return the receipt.

    ``connection`` is a connection to the publisher's database on the driver, prepared by ``duckdb_priv.install``. Its
    secret, ledger and catalog are used. ``source`` is the frame's name in the ledger. If ``frame`` is a Spark session,
    ``source`` is a table or view of its catalog. ``arguments`` are those of the procedure ``priv.publish_<method>``;
    ``record_id`` is required. For the same records, secret and arguments, Spark and DuckDB publish the same release.

    ``path`` is a new folder, for Parquet files, or a new ``.duckdb`` file. ``types`` gives the DuckDB types of columns
    that Spark has widened, for example ``{"age": "UTINYINT"}``. ``checked`` states that the frame has the same rows
    whenever it is read, for frames whose plan does not guarantee that.

    Raises the errors of the procedure. Raises InvalidParameter if the path exists, or if the method needs fresh noise.
    Raises InvalidSource for types whose values Spark and DuckDB write differently. Raises PublicationFailed if the rows
    change between readings, or if Spark fails.
    """
    given = json.loads(json.dumps({"source": source, "release": release, **arguments}, default=str))
    return _published(
        connection,
        frame,
        METHODS.named(method),
        given,
        path=path,
        types=types or {},
        checked=checked,
    )


def refresh(
    connection: duckdb.DuckDBPyConnection,
    frame: DataFrame | SparkSession,
    release: str,
    *,
    path: str | Path,
    checked: bool = False,
) -> dict[str, Any]:
    """Publish the next version of a release from its current data frame; return the row of ``priv.refresh``.

    The release must have been published from Spark. Its arguments, ``types`` included, are used again. If ``frame`` is
    a Spark session, the table of its catalog is read. ``path`` is a new path for the next version. If the records have
    not changed, no version is written, and ``path`` in the returned row is None.

    Raises the errors of ``priv.refresh`` and ``publish``.
    """
    with undone(Caller.of(connection)) as workspace:
        stated = declared.require(workspace.cursor, catalog.find_release(workspace.cursor, release))
    declared.refuse_other_engine(stated, spark=True)
    assert stated.frame is not None
    given, types = {**stated.arguments, "release": stated.release}, stated.frame["types"]
    return _published(
        connection, frame, METHODS.named(stated.mechanism), given,
        path=path, types=types, checked=checked, stated=stated,
    )  # fmt: skip


def _published(
    connection: duckdb.DuckDBPyConnection,
    frame: DataFrame | SparkSession,
    method: Method,
    given: Mapping[str, Any],
    *,
    path: str | Path,
    types: Mapping[str, str],
    checked: bool,
    stated: Declared | None = None,
) -> dict[str, Any]:
    """Publish a frame; ``stated`` is the declaration of the release if this is its next version."""
    started = time.monotonic()
    refuse_foreign(frame)
    request, _ = method.read(given)
    _refuse_unkeyed(method, request)
    session = frame.sparkSession if isinstance(frame, DataFrame) else frame
    with _reported(session):
        place = place_of(path, session)
        rows = frame if isinstance(frame, DataFrame) else open_table(session, request.source)
        caller = Caller.of(connection)
        # Procedures run on cursors, which do not inherit the connection's time zone.
        with caller.instance.cursor() as cursor:
            ((zone,),) = cursor.execute("SELECT current_setting('TimeZone')").fetchall()
        refuse_unstable(rows, checked=checked)
        transfer = place.begin()
        setting, staging = Setting(str(zone)), transfer.inside(STAGING)
        try:
            opened = open_frame(rows, request, types, setting, staging)
            publication = SparkPublication(
                replace(caller, schemas=stated.schemas) if stated else caller,
                method,
                given,
                {name: str(kind) for name, kind in types.items()},
                opened,
                stated,
            )
            transfer.make()
            staging.make()
            with configured(session, by_records(opened.rows_of, first_reading(opened).longest)):
                receipt = publication.run(transfer, place)
        finally:
            place.give_up(transfer)
    return {**receipt, "seconds": round(time.monotonic() - started, 3)}


@dataclass(frozen=True)
class SparkPublication:
    """One publication from Spark."""

    caller: Caller
    method: Method
    given: Mapping[str, Any]
    """The arguments by name."""
    types: Mapping[str, str]
    """The DuckDB types that the publisher gave for columns."""
    frame: SparkFrame
    stated: Declared | None
    """The declaration of the release if this is its next version; else None."""

    def _begun(self, workspace: Workspace, kind: str = "TABLE") -> Publication:
        """Return a publication before its first step."""
        self._forget_unseen(workspace)
        if self.stated is None:
            return begin(self.method, workspace, self.given, kind=kind)
        follows = succeed(workspace, self.stated.release)
        return begin(
            self.method,
            workspace,
            refresh_steps.arguments_of_next(self.stated, follows),
            follows,
            kind,
        )

    def _do(self, publication: Publication, todo: Iterable[PublishingStep]) -> Publication:
        """Run steps of publishing, with the records of the Spark frame as source."""
        for step in todo:
            (self._open_frame if step is steps.open_source else step)(publication)
        return publication

    def _open_frame(self, p: Publication) -> None:
        """Open the frame as source: all records, and the records to publish."""
        opened = open_source(p.workspace, self.frame, p.request)
        p.whole, p.source = entering(p.workspace, opened, p.request.population, p.request.max_rows)

    def _forget_unseen(self, workspace: Workspace) -> None:
        """Drop a recorded release of this name whose files were never moved to their target."""
        views = workspace.rows(
            "SELECT sql FROM duckdb_views() WHERE database_name = ? AND schema_name = ?"
            " AND lower(view_name) = lower(?)",
            [self.caller.database, SCHEMA, self.given["release"]],
        )
        if any(UNSEEN.search(sql) for (sql,) in views):
            steps.drop(workspace, catalog.find_release(workspace.cursor, self.given["release"]))

    def run(self, transfer: Transfer, place: Place) -> dict[str, Any]:
        """Plan, let Spark write the rows beside their target, record, and move the rows to the target."""
        with working(self.caller) as workspace:
            # The key of the marks must be stored before planning, since planning is rolled back.
            mark_stream(workspace)
        if self.stated is not None and (row := self._unchanged(self.stated)):
            return {**self._exported(row), "path": None}
        decided, described = self._decide()
        if not self.frame.read_again:
            self.frame.read_and_compare(decided.whole)
        types = described[-1]
        if not place.one_file:
            refuse_for_parquet(decided.release, types)
        entered = frame_of(decided.source)
        write_rows(entered, decided.kernel, described, decided.source.rows, transfer)
        self.frame.read_and_compare(decided.whole)
        recorded = self._record(decided, types, transfer.here, place)
        if recorded.follows is None:
            return {**recorded.receipt, "path": str(place)}
        with undone(self.caller) as workspace:
            row = refresh_steps.published(workspace, recorded.follows, recorded.receipt)
        return {**self._exported(row), "path": str(place)}

    def _unchanged(self, stated: Declared) -> dict[str, Any] | None:
        """Return the row of ``priv.refresh`` for an unchanged source; None if the source has changed."""
        with undone(self.caller) as workspace:
            p = self._begun(workspace)
            self._open_frame(p)
            assert p.follows is not None
            digest = frame_of(p.source).content(p.source)
            return refresh_steps.unchanged(workspace, stated, p.follows, p.source, digest)

    def _exported(self, row: dict[str, Any]) -> dict[str, Any]:
        """Export the version to the path of the last export."""
        with working(self.caller) as workspace:
            return refresh_steps.exported(workspace, row)

    def _decide(self) -> tuple[Publication, list[dict[str, str]]]:
        """Plan the publication and roll back, so that no transaction waits for Spark.

        Returns the publication, and the column types of each stage of its kernel.
        """
        with undone(self.caller) as workspace:
            decided = self._do(self._begun(workspace), steps.DECIDING)
            _refuse_kernel(decided)
            return decided, [_described(workspace, stage) for stage in decided.kernel.stages]

    def _record(
        self, decided: Publication, types: dict[str, str], part: Path, place: Place
    ) -> Publication:
        """Plan again, write the catalog and the ledger, and after the commit move the files to their target."""
        release, viewed = decided.release, place.stays and not place.one_file
        digest = frame_of(decided.source).content(decided.source)
        place.refuse_taken()
        instead: dict[PublishingStep, PublishingStep] = {
            steps.write_rows: partial(_take_rows, decided, types, part),
            steps.declare: partial(steps.declare, digest=digest, frame={"types": self.types}),
        }
        with working(self.caller) as workspace:
            publication = self._do(
                self._begun(workspace, "VIEW" if viewed else "TABLE"),
                (instead.get(step, step) for step in steps.STEPS),
            )
            if not place.one_file:
                placing.remove(part / STAGING)
                html = page.named(analyst_card(workspace.cursor, release), release)
                columns = _columns(workspace, types, part)
                selected = f"{columns}\nFROM read_parquet('{FILES}')"
                write_catalog(workspace, part, release, "VIEW", selected, html)
                (part / PAGE).write_text(html, encoding="utf-8", newline="\n")
                workspace.on_commit.append(lambda: place.fill(part))
        if isinstance(place, Here):
            if place.one_file:
                self._export(release, place.path)
            else:
                self._show(release, types, place.path)
        return publication

    def _export(self, release: str, place: Path) -> None:
        """Export the release file from the table in the publisher's database."""
        with working(self.caller) as workspace:
            export_release = self.caller.instance.find("export_release")
            export_release(workspace, {"release": release, "path": str(place)})

    def _show(self, release: str, types: dict[str, str], place: Path) -> None:
        """Create a view of the folder in the publisher's database, with the name of the release."""
        with working(self.caller) as workspace:
            workspace.cursor.execute(
                f"CREATE OR REPLACE VIEW {identifier(self.caller.database)}.{SCHEMA}.{identifier(release)}"
                f" AS SELECT {_columns(workspace, types, place)} FROM {_files(place)}"
            )
            attributes = catalog.sensitive_attributes(workspace.cursor, release)
            steps.describe(workspace, release, attributes, "VIEW")


def _take_rows(decided: Publication, types: dict[str, str], part: Path, p: Publication) -> None:
    """Publish the rows that Spark wrote, as a table or as a view of their files; refuse if the plan has changed."""
    if (p.kernel, p.plan.earlier) != (decided.kernel, decided.plan.earlier):
        raise PublicationFailed(
            "the plan of the publication changed while Spark wrote the rows",
            hint="nothing was recorded; the database was changed meanwhile, so publish again",
        )
    rows = f"SELECT {_columns(p.workspace, types, part)} FROM {_files(part)}"
    create = (
        sorted_table(p.rows, rows, types)
        if p.kind == "TABLE"
        else f"CREATE VIEW {p.rows} AS {rows}"
    )
    p.workspace.cursor.execute(create)
    p.types = types


def _described(workspace: Workspace, stage: Kernel) -> dict[str, str]:
    """Return the column types of a stage's output."""
    nothing = ", ".join(f"NULL::{kind} AS {identifier(name)}" for name, kind in stage.reads.items())
    with stage.opened(workspace.cursor, f"(SELECT {nothing} WHERE false)") as rows:
        return types_of(workspace.cursor, f"({rows})")


def _files(folder: Path) -> str:
    """Write the SQL that reads the rows of a folder."""
    return in_duckdb(folder, FILES)


def _columns(workspace: Workspace, types: Mapping[str, str], folder: Path) -> str:
    """Write the select list that reads a folder's rows with the types of a release file: texts become ENUMs."""
    stored = types_of(workspace.cursor, _files(folder))

    def read(name: str, kind: str) -> str:
        column = identifier(name)
        if stored[name] == kind:
            return column
        if not is_one_of(kind, "ENUM"):
            return in_types({name: kind})
        ((values,),) = workspace.rows(f"SELECT enum_range(NULL::{kind})")
        return f"{looked_up(column, values, kind)} AS {column}"

    return ",\n    ".join(read(name, kind) for name, kind in types.items())


def _refuse_unkeyed(method: Method, request: Request) -> None:
    """Raise InvalidParameter if a method needs fresh noise, since Spark computes lost tasks again."""
    if method.baseline:
        raise InvalidParameter(
            f"{method.name} is a baseline for comparisons and cannot be published from Spark",
            hint="publish a sample of the frame with DuckDB",
        )
    if not request.record_id:
        raise InvalidParameter(
            "record_id is missing, and without it the noise is fresh: Spark computes lost tasks again, and a"
            " record would show two values",
            hint="write record_id='id', the column that identifies records",
        )


def _refuse_kernel(decided: Publication) -> None:
    stages = decided.kernel.stages
    fresh = any(
        isinstance(bits, FreshBits) for stage in stages for bits in stage.random_bits.values()
    )
    if fresh or any(not stage.alone and stage.together is None for stage in stages):
        raise InvalidParameter(
            f"{decided.method.name} cannot be published from Spark: the value that a record shows may depend on"
            " any other record",
            hint="publish with another method, or with DuckDB",
        )


@contextmanager
def _reported(session: Any) -> Iterator[None]:
    """Turn Spark's errors into errors of this package, since Spark's texts may quote a value."""
    if _is_stopped(session):
        raise _stopped()
    try:
        yield
    except PrivError:
        raise
    except OSError as error:
        raise PublicationFailed(
            f"{error.strerror}: {echoed(str(error.filename))}", hint="nothing was recorded"
        ) from None
    except (PySparkException, Py4JError, AttributeError) as error:
        # The objects of a stopped session lack their attributes.
        if _is_stopped(session):
            raise _stopped() from None
        if isinstance(error, AttributeError):
            raise
        raise _explained(error) from None


def _is_stopped(session: Any) -> bool:
    """Return whether a session, or the server's session of a remote one, was stopped."""
    if hasattr(session, "is_stopped"):
        return bool(session.is_stopped)
    inside = session.sparkContext._jsc
    return inside is None or bool(inside.sc().isStopped())


def _stopped() -> PublicationFailed:
    return PublicationFailed(
        "the Spark session of the frame was stopped",
        hint="nothing was recorded; read the frame again in a running session",
    )


def _explained(error: Exception) -> PrivError:
    text = str(error)
    if STOPPED.search(text):
        return _stopped()
    if found := OURS.search(text):
        kind = getattr(errors, found[1], PublicationFailed)
        return kind(found[2], hint=found[3])
    if "No module named" in text:
        missing = re.search(r"No module named '([\w.]+)'", text)
        return PublicationFailed(
            f"Spark's tasks cannot import {missing[1] if missing else 'duckdb_priv'}",
            hint="install duckdb_priv in the Python of the executors, too",
        )
    if UNREACHED.search(text):
        return PublicationFailed(
            "an executor cannot read or write the folder of the path",
            hint="nothing was recorded; give a path in a folder that the driver and all executors share and can write",
        )
    if "No space left" in text:
        return PublicationFailed("there is no space left on the disk", hint="nothing was recorded")
    if "PYTHON_VERSION_MISMATCH" in text:
        return PublicationFailed(
            "Spark's tasks run another version of Python than the driver",
            hint="set PYSPARK_PYTHON to the same version everywhere",
        )
    return PublicationFailed(
        f"Spark failed with a {type(error).__name__}, whose text may quote a value",
        hint="nothing was recorded; Spark's log has the details",
    )

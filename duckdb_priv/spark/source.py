"""Opens a Spark data frame as the source of a release, and refuses a frame whose rows change between readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from duckdb_priv.engine.source import (
    Source,
    columns_of_roles,
    parse_name,
    readable_name,
    refuse_empty,
    refuse_ids,
)
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource, PublicationFailed, UnknownName, echoed
from duckdb_priv.release.request import Request, Roles
from duckdb_priv.spark.aggregates import AnswersOf
from duckdb_priv.spark.frame import SparkFrame, column, read_columns
from duckdb_priv.spark.ids import count_distinct, present

ELSEWHERE = "_priv_records_stand_in_spark"
"""The name of the source's table in DuckDB. No such table exists, so a query that does not use Spark fails."""
MISSING = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "PARSE_EMPTY_STATEMENT",
    "PARSE_SYNTAX_ERROR",
    "SCHEMA_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",
)
"""Spark's error conditions for a name that is not a table."""


def open_table(session: Any, name: str) -> DataFrame:
    """Return a table or view of a session's catalog as a frame; raises UnknownName for an unknown name."""
    parts = ("`" + part.replace("`", "``") + "`" for part in parse_name(name))
    try:
        frame: DataFrame = session.table(".".join(parts) or "``")
    except PySparkException as error:
        if error.getCondition() not in MISSING:
            raise
        raise UnknownName(
            f"Spark's catalog has no table or view {echoed(name)}",
            hint="write a name that spark.table(…) accepts, or pass the frame",
        ) from None
    return frame


def frame_of(source: Source) -> SparkFrame:
    """Return the frame of the records of a source."""
    assert isinstance(source.answers, AnswersOf)
    return source.answers.frame


def open_source(workspace: Workspace, frame: SparkFrame, request: Request) -> Source:
    """Assign roles to the columns of a frame, and count its rows and ids.

    Raises InvalidSource for ids that are missing or not unique, and PublicationFailed for rows that change.
    """
    columns = columns_of_roles(
        request.source, list(frame.types), dict(frame.types), _roles_of_frame(request, frame)
    )
    rows, with_id, distinct = _counted(
        frame, columns.record_id, columns.sensitive, read_columns(columns)
    )
    refuse_empty(request.source, rows)
    if with_id < rows:
        raise InvalidSource(
            f"record id {' and '.join(map(repr, columns.record_id))} is NULL in {rows - with_id} of {rows} rows",
            hint="give every record an id, or leave those rows out: frame.dropna(subset=['id'])",
        )
    refuse_ids(columns.record_id, rows, with_id, distinct)
    path = [workspace.database, "main", *parse_name(request.source)[-3:]][-3:]
    return Source(
        table=ELSEWHERE,
        name=readable_name(path),
        types=dict(frame.types),
        public=columns.public or (),
        sensitive=columns.sensitive,
        record_id=columns.record_id,
        origins=(readable_name(path),),
        rows=rows,
        person=columns.person,
        population=request.population,
        version=frame.version,
        answers=AnswersOf(frame),
    )


def _roles_of_frame(request: Request, frame: SparkFrame) -> Roles:
    """Remove excluded columns that the frame does not have from the roles."""
    roles = request.roles
    there = {name.lower() for name in frame.types}
    kept = tuple(name for name in roles.exclude if name.lower() in there)
    return replace(roles, exclude=kept)


def _counted(
    frame: SparkFrame, record_id: Sequence[str], sensitive: Sequence[str], read: Sequence[str]
) -> tuple[int, int, int]:
    """Count the rows, the rows with an id and the distinct ids; raise PublicationFailed if the rows change."""
    key = ("digest", *read)
    if key not in frame.answers:
        ids = list(map(column, record_id))
        numbers = [each for each in sensitive if frame.types[each] in ("FLOAT", "DOUBLE")]
        nans = [f.count_if(f.isnan(column(each))) for each in numbers]
        digest, (rows, with_id, *found) = frame.digest(read, f.count_if(present(ids)), *nans)
        for name, number in zip(numbers, found, strict=True):
            if number:
                raise InvalidSource(
                    f"sensitive column {name!r} is nan in {number} of {rows} rows, and nan cannot be published",
                    hint="replace nan by NULL: f.when(~f.isnan(column), column)",
                )
        refuse_changed(digest, frame.digest(read)[0])
        counts = [rows, with_id, count_distinct(frame.rows_of, ids, with_id)]
        frame.answers[key] = pa.table({"count": counts, "digest": [digest] * 3})
    rows, with_id, distinct = frame.answers[key]["count"].to_pylist()
    return rows, with_id, distinct


def refuse_changed(before: object, after: object) -> None:
    """Raise PublicationFailed if two digests of a frame's rows differ."""
    if before != after:
        raise PublicationFailed(
            "the rows of the frame differ between two readings",
            hint="nothing was recorded; write the frame to a table, and publish the table",
        )

"""A data frame of Spark as the source of a release: whether its rows stay the same, its columns, and its counts.

Noise is derived from ids. An id that Spark makes from the place of a row, or at random, is another one when tasks are
divided otherwise, and a release with other ids has other noise, which could be averaged away. Spark's plan says where
that may happen, and a frame is read twice to see whether it holds the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
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
from duckdb_priv.errors import InvalidSource, PublicationFailed
from duckdb_priv.release.request import Request, Roles
from duckdb_priv.spark.aggregates import SparkAggregates
from duckdb_priv.spark.frame import SparkFrame, column, read_columns
from duckdb_priv.spark.ids import count_distinct, present

ELSEWHERE = "_priv_records_stand_in_spark"
"""Is named where DuckDB would read the records: a question that does not go to Spark fails."""
CLASS = re.compile(r'"class":"[\w.$]*[.$](\w+)\$?"')
ORDERED = {
    "RowNumber": "row_number()",
    "NTile": "ntile()",
    "Lag": "lag()",
    "Lead": "lead()",
    "NthValue": "nth_value()",
    "First": "first()",
    "Last": "last()",
    "AnyValue": "any_value()",
    "CollectList": "collect_list()",
    "CollectSet": "collect_set()",
    "ListAgg": "listagg()",
    "MinBy": "min_by()",
    "MaxBy": "max_by()",
    "GlobalLimit": "limit",
    "LocalLimit": "limit",
    "Tail": "tail",
    "Offset": "offset",
    "Sample": "sample",
    "LogicalRDD": "an RDD, a checkpoint or rows of the program",
    "ExternalRDD": "an RDD",
    "MapInArrow": "mapInArrow",
    "MapInPandas": "mapInPandas",
    "MapPartitions": "mapPartitions",
    "ScriptTransformation": "a script",
}
"""By class of a plan: what may give other rows where rows that are equal in its order come in another one, or that
Spark cannot look into."""
FILES = frozenset({"parquet", "orc", "csv", "json", "text", "avro", "xml", "delta", "iceberg"})
"""Formats of files, which hold the same rows whenever they are read."""
TABLES = frozenset({"MANAGED", "EXTERNAL"})
"""Kinds of tables in a catalog that are no views."""
WRITE = "write the frame to a table, and publish what that holds"
CHECKED = "; or give checked=True, if you know that its rows are always the same"


def refuse_unstable(frame: DataFrame, *, checked: bool) -> None:
    """Refuse a frame whose ids or values may be others when it is read again.

    ``checked`` says that the publisher knows better, where a plan only may do so. Raises InvalidSource.
    """
    if frame.isStreaming:
        raise InvalidSource(
            "the frame is a stream, which has no end",
            hint="publish a table that the stream is written to",
        )
    if (plan := _analyzed(frame)) is None:
        if not (checked or _is_stored(frame)):
            raise InvalidSource(
                "a remote session does not show what the frame is made of, and it is no table and no files",
                hint=WRITE + CHECKED,
            )
        return
    if not plan.deterministic():
        raise InvalidSource(
            f"the frame reads {_drawn(plan)}, whose values are others when its rows are divided otherwise",
            hint=f"publications of it could be averaged; {WRITE}",
        )
    if not checked and (found := next(_by_order(plan), None)):
        raise InvalidSource(
            f"the frame is made by {found}, whose rows may depend on how Spark divides and orders those that it reads",
            hint=WRITE + CHECKED,
        )


def _analyzed(frame: DataFrame) -> Any:
    """Return the plan in which views and names are resolved; None for a frame of a remote session."""
    inside = getattr(frame, "_jdf", None) if "connect" not in type(frame).__module__ else None
    return None if inside is None else inside.queryExecution().analyzed()


def _classes(plan: Any) -> list[str]:
    return CLASS.findall(str(plan.toJSON()))


def _drawn(plan: Any) -> str:
    """Name a function that is no function of the row."""
    names = {
        "MonotonicallyIncreasingID": "monotonically_increasing_id()",
        "SparkPartitionID": "spark_partition_id()",
        "InputFileName": "input_file_name()",
        "RandStr": "randstr()",
        "Rand": "rand()",
        "Randn": "randn()",
        "Uuid": "uuid()",
        "Shuffle": "shuffle()",
        "Uniform": "uniform()",
    }
    return next((names[each] for each in _classes(plan) if each in names), "a function of no row")


def _by_order(plan: Any) -> Iterator[str]:
    """Name what a plan holds that may depend on the order of rows."""
    classes = _classes(plan)
    yield from (ORDERED[each] for each in classes if each in ORDERED)
    yield from (each for each in classes if each.startswith(("FlatMapGroups", "FlatMapCoGroups")))
    if "Deduplicate" in classes and not all(map(_whole_rows, _nodes(plan, "Deduplicate"))):
        yield "dropDuplicates of some columns"


def _nodes(plan: Any, name: str) -> Iterator[Any]:
    """Go through the operators of a plan."""
    if plan.nodeName() == name:
        yield plan
    children = plan.children()
    for place in range(children.size()):
        yield from _nodes(children.apply(place), name)


def _whole_rows(deduplicate: Any) -> bool:
    """Return whether rows are left out only where others are the same."""
    return bool(deduplicate.keys().size() == deduplicate.child().output().size())


def _is_stored(frame: DataFrame) -> bool:
    """Return whether a remote frame is a table, or files, as they are."""
    from pyspark.sql.connect.plan import DataSource, Read

    plan = getattr(frame, "_plan", None)
    if isinstance(plan, DataSource):
        form = plan._format or frame.sparkSession.conf.get("spark.sql.sources.default")
        return str(form).lower() in FILES
    if isinstance(plan, Read):
        return frame.sparkSession.catalog.getTable(plan.table_name).tableType in TABLES
    return False


def open_source(workspace: Workspace, frame: SparkFrame, request: Request) -> Source:
    """Give the columns of a frame their roles, and count its rows and ids.

    Raises InvalidSource for ids that are missing or not unique, and for rows that are others when read again.
    """
    columns = columns_of_roles(
        request.source, list(frame.types), dict(frame.types), _of_frame(request, frame)
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
        answers=partial(_answering, frame),
    )


def _answering(frame: SparkFrame, workspace: Workspace, source: Source) -> SparkAggregates:
    return SparkAggregates(workspace, source, frame)


def _of_frame(request: Request, frame: SparkFrame) -> Roles:
    """Leave out of the roles what was left out of the frame."""
    roles = request.roles
    there = {name.lower() for name in frame.types}
    kept = tuple(name for name in roles.exclude if name.lower() in there)
    return replace(roles, exclude=kept)


def _counted(
    frame: SparkFrame, record_id: Sequence[str], sensitive: Sequence[str], read: Sequence[str]
) -> tuple[int, int, int]:
    """Count rows, those with an id, and different ids; read twice, a frame must hold the same."""
    key = ("digest", *read)
    if key not in frame.answers:
        ids = list(map(column, record_id))
        numbers = [each for each in sensitive if frame.types[each] in ("FLOAT", "DOUBLE")]
        nans = [f.count_if(f.isnan(column(each))) for each in numbers]
        digest, (rows, with_id, *found) = frame.digest(read, f.count_if(present(ids)), *nans)
        for name, number in zip(numbers, found, strict=True):
            if number:
                raise InvalidSource(
                    f"sensitive column {name!r} is nan in {number} of {rows} rows, which is no value",
                    hint="make it NULL: f.when(~f.isnan(column), column)",
                )
        refuse_changed(digest, frame.digest(read)[0])
        counts = [rows, with_id, count_distinct(frame.rows_of, ids, with_id)]
        frame.answers[key] = pa.table({"count": counts, "digest": [digest] * 3})
    rows, with_id, distinct = frame.answers[key]["count"].to_pylist()
    return rows, with_id, distinct


def refuse_changed(before: object, after: object) -> None:
    """Refuse a frame whose rows are others than when they were read before."""
    if before != after:
        raise PublicationFailed(
            "the rows of the frame are others each time they are read",
            hint="nothing was recorded; write the frame to a table, and publish what that holds",
        )

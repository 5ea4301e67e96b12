"""Whether the rows of a frame are the same whenever they are read, and however they are divided: by its plan.

Noise is derived from ids. An id that Spark makes from the place of a row, or at random, is another one when tasks are
divided otherwise, and a release with other ids has other noise, which could be averaged away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame

from duckdb_priv.errors import InvalidSource

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
    """Say whether rows are left out only where others are the same."""
    return bool(deduplicate.keys().size() == deduplicate.child().output().size())


def _is_stored(frame: DataFrame) -> bool:
    """Say whether a remote frame is a table, or files, as they are."""
    from pyspark.sql.connect.plan import DataSource, Read

    plan = getattr(frame, "_plan", None)
    if isinstance(plan, DataSource):
        form = plan._format or frame.sparkSession.conf.get("spark.sql.sources.default")
        return str(form).lower() in FILES
    if isinstance(plan, Read):
        return frame.sparkSession.catalog.getTable(plan.table_name).tableType in TABLES
    return False

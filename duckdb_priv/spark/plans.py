"""Reads Spark's plan of a data frame: whether its rows may change between readings, and the versions of its tables.

Noise is derived from ids. An id that Spark derives from a row's position, or draws at random, changes if the frame is
partitioned differently. A release with other ids has other noise, so several releases could be averaged. The plan shows
where that can happen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
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
    "Mode": "mode()",
    "ApproximatePercentile": "approx_percentile()",
    "ApproxTopK": "approx_top_k()",
    "HistogramNumeric": "histogram_numeric()",
    "AsOfJoin": "a join with the nearest row",
    "AttachDistributedSequence": "zipWithIndex",
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
"""Classes of plan nodes, and their names in messages, whose rows may depend on the order of the rows that they read."""
PLACES = '"name":"_metadata"'
"""The part of a plan that reads the files of rows and their positions there."""
RANKS = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist"})
WINDOW, BY_ROWS = "SpecifiedWindowFrame", "RowFrame$"
ENDS = ("UnboundedPreceding$", "UnboundedFollowing$")
FILES = frozenset({"parquet", "orc", "csv", "json", "text", "avro", "xml", "delta", "iceberg"})
"""Formats of files, whose rows do not change between readings."""
TABLES = frozenset({"MANAGED", "EXTERNAL"})
"""Kinds of tables in a catalog that are not views."""
WRITE = "write the frame to a table, and publish the table"
CHECKED = "; or give checked=True if you know that its rows are always the same"


def refuse_unstable(frame: DataFrame, *, checked: bool) -> None:
    """Raise InvalidSource for a frame whose ids or values may change between readings.

    ``checked`` is the publisher's statement that the rows are always the same. Random functions are refused anyway.
    """
    if frame.isStreaming:
        raise InvalidSource(
            "the frame is a stream, which has no end",
            hint="write the stream to a table, and publish the table",
        )
    if (plan := _analyzed(frame)) is None:
        if not (checked or _is_stored(frame)):
            raise InvalidSource(
                "a remote session does not show the frame's plan, and the frame is neither a table nor files",
                hint=WRITE + CHECKED,
            )
        return
    if not plan.deterministic():
        raise InvalidSource(
            f"the frame uses {_random_function(plan)}, whose values change between readings",
            hint=f"publications of the frame could be averaged; {WRITE}",
        )
    if not checked and (found := next(_by_order(plan), None)):
        raise InvalidSource(
            f"the frame uses {found}, whose result may depend on the order and the partitions of the rows",
            hint=WRITE + CHECKED,
        )


def _analyzed(frame: DataFrame) -> Any:
    """Return the frame's analyzed plan; None for a frame of a remote session."""
    inside = getattr(frame, "_jdf", None) if "connect" not in type(frame).__module__ else None
    return None if inside is None else inside.queryExecution().analyzed()


def _classes(plan: Any) -> list[str]:
    return CLASS.findall(str(plan.toJSON()))


def _random_function(plan: Any) -> str:
    """Return the name of a function in a plan that does not depend on the row alone."""
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
    return next((names[each] for each in _classes(plan) if each in names), "a random function")


def _by_order(plan: Any) -> Iterator[str]:
    """Yield the names of a plan's parts that may depend on the order of rows."""
    text = str(plan.toJSON())
    classes = CLASS.findall(text)
    yield from (ORDERED[each] for each in classes if each in ORDERED)
    yield from (each for each in classes if each.startswith(("FlatMapGroups", "FlatMapCoGroups")))
    if "Deduplicate" in classes and not all(map(_whole_rows, _nodes(plan, "Deduplicate"))):
        yield "dropDuplicates of some columns"
    if PLACES in text:
        yield "the _metadata of files"
    if WINDOW in classes and any(map(_has_row_bound, _trees(json.loads(text)))):
        yield "a window of rows"


def _trees(parts: Any) -> Iterator[list[Any]]:
    """Yield the expressions of a plan parsed from JSON, each as a list of its nodes in preorder."""
    if isinstance(parts, dict):
        parts = parts.values()
    elif isinstance(parts, list):
        yield parts
    else:
        return
    for part in parts:
        yield from _trees(part)


def _has_row_bound(nodes: list[Any]) -> bool:
    """Return whether a window is bounded by a number of rows, so that ties in its order decide which rows it has."""
    names = [
        str(each.get("class", "")).split(".")[-1] if isinstance(each, dict) else ""
        for each in nodes
    ]
    function = ""
    for place, name in enumerate(names):
        if name == "WindowExpression":
            function = names[place + 1]
        # rank() and similar functions have a window of rows but do not depend on the order of ties.
        if (
            name == WINDOW
            and str(nodes[place]["frameType"].get("object", "")).endswith(BY_ROWS)
            and tuple(names[place + 1 : place + 3]) != ENDS
            and function not in RANKS
        ):
            return True
    return False


def _nodes(plan: Any, name: str) -> Iterator[Any]:
    """Yield the operators of this name in a plan."""
    if plan.nodeName() == name:
        yield plan
    for child in _listed(plan.children()):
        yield from _nodes(child, name)


def _whole_rows(deduplicate: Any) -> bool:
    """Return whether a Deduplicate operator compares whole rows."""
    return bool(deduplicate.keys().size() == deduplicate.child().output().size())


def _is_stored(frame: DataFrame) -> bool:
    """Return whether a remote frame only reads a table or files."""
    from pyspark.sql.connect.plan import DataSource, Read

    plan = getattr(frame, "_plan", None)
    if isinstance(plan, DataSource):
        form = plan._format or frame.sparkSession.conf.get("spark.sql.sources.default")
        return str(form).lower() in FILES
    if isinstance(plan, Read):
        return frame.sparkSession.catalog.getTable(plan.table_name).tableType in TABLES
    return False


def source_version(frame: DataFrame) -> str | None:
    """Return the versions of the tables that a frame reads; None if they are unknown.

    A version is that of a Delta table, the snapshot of an Iceberg table, the version of a table in another catalog, or
    a digest of the paths, sizes and times of files. If Spark shows only the names of files, as in a remote session, it
    is a digest of the names.
    """
    plan = _analyzed(frame)
    found = [None] if plan is None else list(map(_version_of, _leaves(plan)))
    versions = [each for each in found if each]
    with suppress(Py4JError, PySparkException):
        if None in found and (names := frame.inputFiles()):
            versions.append(_digest(names))
    return ", ".join(dict.fromkeys(versions)) or None


def _leaves(plan: Any) -> Iterator[Any]:
    """Yield the leaves of a plan and of the subqueries in its expressions."""
    for each in (plan, *_listed(plan.subqueriesAll())):
        yield from _listed(each.collectLeaves())


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]


def _version_of(leaf: Any) -> str | None:
    """Return the version of a leaf's table or files; None if it has none."""
    for version in (_of_delta, _of_iceberg, _of_table, _of_files):
        # Java objects of other classes lack these methods.
        with suppress(Py4JError, AttributeError):
            if found := version(leaf):
                return found
    return None


def _of_delta(leaf: Any) -> str:
    return f"delta {leaf.relation().location().tableVersion()}"


def _of_iceberg(leaf: Any) -> str:
    table = leaf.table()
    chosen = table.snapshotId()
    return f"iceberg {table.table().currentSnapshot().snapshotId() if chosen is None else chosen}"


def _of_table(leaf: Any) -> str | None:
    version = leaf.table().version()
    return version and f"version {version}"


def _of_files(leaf: Any) -> str:
    files = leaf.relation().location().allFiles()
    return _digest(
        f"{each.getPath()} {each.getLen()} {each.getModificationTime()}" for each in _listed(files)
    )


def _digest(files: Iterable[str]) -> str:
    held = hashlib.sha256("\n".join(sorted(files)).encode())
    return f"files {held.hexdigest()[:16]}"

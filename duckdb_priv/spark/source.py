"""Opens a Spark data frame as the source of a release, and refuses a frame whose rows change between readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.engine.source import (
    Source,
    parse_name,
    readable_name,
    refuse_empty,
    refuse_ids,
)
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource, UnknownName, echoed
from duckdb_priv.release.request import Request
from duckdb_priv.spark.aggregates import AnswersOf
from duckdb_priv.spark.frame import FirstReading, SparkFrame, column, longest, read_columns
from duckdb_priv.spark.tasks import in_tasks
from duckdb_priv.spark.types import has_floats

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


def open_source(workspace: Workspace, frame: SparkFrame, request: Request) -> Source:
    """Assign roles to the columns of a frame, and count its rows and ids.

    Raises InvalidSource for ids that are missing or not unique.
    """
    columns = frame.roles
    rows, with_id, distinct = _counted(frame)
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


def first_reading(frame: SparkFrame) -> FirstReading:
    """Return what the first reading of the records counts."""

    def read() -> FirstReading:
        names = tuple(read_columns(frame.roles))
        ids = list(map(column, frame.roles.record_id))
        numbers = [
            each for each in frame.roles.sensitive if frame.types[each] in ("FLOAT", "DOUBLE")
        ]
        nans = [f.count_if(f.isnan(column(name))) for name in numbers]
        ends = [f.min(ids[0]), f.max(ids[0])] if _is_whole(frame.rows_of, ids) else []
        counts = f.count(f.lit(1)), f.count_if(present(ids)), longest(frame.rows_of)
        frame.contents[names], found = frame.digest(names, *counts, *nans, *ends)
        rows, with_id, length, *more = found
        of_nans, of_ends = more[: len(nans)], more[len(nans) :]
        return FirstReading(
            rows, with_id, length or 0, dict(zip(numbers, of_nans, strict=True)), tuple(of_ends)
        )

    return frame.once(("first reading",), read)


def _counted(frame: SparkFrame) -> tuple[int, int, int]:
    """Count the rows, the rows with an id and the distinct ids."""
    first = first_reading(frame)
    for name, number in first.nans.items():
        if number:
            raise InvalidSource(
                f"sensitive column {name!r} is nan in {number} of {first.rows} rows, and nan cannot be published",
                hint="replace nan by NULL: f.when(~f.isnan(column), column)",
            )
    ids = list(map(column, frame.roles.record_id))
    distinct = frame.once(
        ("distinct ids",), lambda: count_distinct(frame.rows_of, ids, first.with_id, first.ends)
    )
    return first.rows, first.with_id, distinct


BITS_PER_ID = 8
"""The largest number of bitmap bits per id, so that bitmaps take no more bytes than hashes."""
IDS_OF_BLOCK = 1 << 20
"""Hashes that a task sorts at once."""
IDS_OF_TASK = 1 << 22
"""Average hashes of a bucket, which one task counts."""


def present(ids: Sequence[Column]) -> Column:
    """Return the condition that no column of an id is NULL."""
    return reduce(and_, (each.isNotNull() for each in ids))


def _is_whole(frame: DataFrame, ids: Sequence[Column]) -> bool:
    """Return whether the id is a single whole number."""
    (first, *more) = frame.select(*ids).schema.fields
    return not more and isinstance(first.dataType, spark.IntegralType)


def count_distinct(
    frame: DataFrame, ids: Sequence[Column], with_id: int, ends: Sequence[int | None]
) -> int:
    """Count the distinct ids of the ``with_id`` records that have an id, exactly, without shuffling them as rows.

    ``ends`` are the lowest and the highest id, if an id is a single whole number.

    Whole numbers of a dense range are counted as bits of bitmaps. Other ids are hashed to 64 bits. Each task sorts its
    hashes and splits them by their first bits into blocks, so that equal hashes are in blocks of the same bucket. If no
    two hashes are equal, no two ids are. Otherwise the ids themselves are counted. Among a billion texts, equal hashes
    occur by chance in 3 of 100 tables; the hashes of single whole numbers never collide.
    """
    identified = frame.where(present(ids)).select(*ids)
    low, high = ends or (None, None)
    if low is not None and high is not None and high - low < BITS_PER_ID * with_id:
        return _count_bits(identified, ids[0].cast("bigint") - f.lit(low).cast("bigint"))
    # Equal floating-point numbers inside lists may have different hashes.
    by_hash = not any(has_floats(each.dataType) for each in identified.schema.fields)
    if by_hash and _count_hashes(identified, ids, with_id) == with_id:
        return with_id
    ((distinct,),) = identified.agg(f.count_distinct(*ids)).collect()
    return int(distinct)


def _count_bits(identified: DataFrame, place: Column) -> int:
    """Count distinct ids with bitmaps; ``place`` is the difference between an id and the lowest id."""
    bitmaps = identified.groupBy(f.bitmap_bucket_number(place)).agg(
        f.bitmap_construct_agg(f.bitmap_bit_position(place)).alias("bitmap")
    )
    ((distinct,),) = bitmaps.agg(f.sum(f.bitmap_count("bitmap"))).collect()
    return int(distinct)


def _count_hashes(identified: DataFrame, ids: Sequence[Column], with_id: int) -> int:
    """Count the distinct hashes of ids."""
    pack = Pack(1 + with_id // IDS_OF_TASK, IDS_OF_BLOCK)
    hashes = identified.select(hashed(ids).alias("hash"))
    blocks = in_tasks(hashes, pack, "bucket int, block binary")
    counts = blocks.groupBy("bucket").applyInArrow(_count, "hashes bigint")
    ((distinct,),) = counts.agg(f.sum("hashes")).collect()
    return int(distinct or 0)


def hashed(ids: Sequence[Column]) -> Column:
    """Return the 64-bit hash of an id."""
    return f.xxhash64(*ids)


@dataclass(frozen=True)
class Pack:
    """Sorts the hashes of a partition, and yields the distinct ones as blocks, one block per bucket."""

    buckets: int
    block: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blocks of every ``block`` hashes."""
        waiting: list[NDArray[np.uint64]] = []
        for batch in batches:
            waiting.append(batch.column(0).to_numpy().view(np.uint64))
            if sum(map(len, waiting)) >= self.block:
                yield self._packed(np.concatenate(waiting))
                waiting = []
        if waiting:
            yield self._packed(np.concatenate(waiting))

    def _packed(self, hashes: NDArray[np.uint64]) -> pa.RecordBatch:
        hashes = _distinct(hashes)
        half = np.uint64(32)
        buckets = (hashes >> half) * np.uint64(self.buckets) >> half
        cuts = np.searchsorted(buckets, np.arange(self.buckets + 1, dtype=np.uint64))
        blocks = [hashes[begin:end].tobytes() for begin, end in pairwise(cuts)]
        return pa.record_batch(
            {"bucket": pa.array(range(self.buckets), pa.int32()), "block": pa.array(blocks)}
        )


def _count(blocks: pa.Table) -> pa.Table:
    """Count the distinct hashes of a bucket."""
    hashes = np.concatenate(
        [np.frombuffer(each.as_buffer(), np.uint64) for each in blocks["block"]]
    )
    return pa.table({"hashes": [len(_distinct(hashes))]})


def _distinct(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the sorted distinct hashes; NumPy's ``unique`` takes twenty times as long."""
    hashes = np.sort(hashes)
    new: NDArray[np.bool_] = np.diff(hashes, prepend=~hashes[:1]) != 0
    return hashes[new]

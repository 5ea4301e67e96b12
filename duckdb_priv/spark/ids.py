"""How many different ids there are, counted exactly and without moving them as rows.

Whole numbers that lie close together become bits of maps, as where DuckDB counts them. Any others, Spark hashes to 64
bits: tasks sort the hashes and pass them on as blocks, cut by their first bits, so that equal ones meet. Where no two
hashes are equal, no two ids are. Only where some are, as by chance among a billion texts in 3 of 100 tables, are the
ids themselves counted. A single whole number has a hash that no other one has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as spark

from duckdb_priv.spark.tasks import in_tasks
from duckdb_priv.spark.types import has_floats

BITS_PER_ID = 8
"""Bits of maps for each id at most: no more bytes than hashes take."""
IDS_OF_BLOCK = 1 << 20
"""Hashes that a task sorts at a time."""
IDS_OF_TASK = 1 << 22
"""Hashes that meet in a task, on average."""


def present(ids: Sequence[Column]) -> Column:
    """Return whether nothing of an id is missing."""
    return reduce(and_, (each.isNotNull() for each in ids))


def count_distinct(frame: DataFrame, ids: Sequence[Column], with_id: int) -> int:
    """Count the different ids of ``with_id`` records, of those that have one."""
    identified = frame.where(present(ids)).select(*ids)
    (first, *more) = identified.schema.fields
    if not more and isinstance(first.dataType, spark.IntegralType):
        ((low, high),) = identified.agg(f.min(ids[0]), f.max(ids[0])).collect()
        if low is not None and high - low < BITS_PER_ID * with_id:
            return _count_bits(identified, ids[0].cast("bigint") - f.lit(low).cast("bigint"))
    # Of floating-point numbers inside of lists, equal ones may hash differently.
    by_hash = not any(has_floats(each.dataType) for each in (first, *more))
    if by_hash and _count_hashes(identified, ids, with_id) == with_id:
        return with_id
    ((distinct,),) = identified.agg(f.count_distinct(*ids)).collect()
    return int(distinct)


def _count_bits(identified: DataFrame, place: Column) -> int:
    """Count the different places of ids from the lowest one on."""
    bitmaps = identified.groupBy(f.bitmap_bucket_number(place)).agg(
        f.bitmap_construct_agg(f.bitmap_bit_position(place)).alias("bitmap")
    )
    ((distinct,),) = bitmaps.agg(f.sum(f.bitmap_count("bitmap"))).collect()
    return int(distinct)


def _count_hashes(identified: DataFrame, ids: Sequence[Column], with_id: int) -> int:
    """Count the different hashes of ids."""
    pack = Pack(1 + with_id // IDS_OF_TASK, IDS_OF_BLOCK)
    hashes = identified.select(hashed(ids).alias("hash"))
    blocks = in_tasks(hashes, pack, "bucket int, block binary")
    counts = blocks.groupBy("bucket").applyInArrow(_count, "hashes bigint")
    ((distinct,),) = counts.agg(f.sum("hashes")).collect()
    return int(distinct or 0)


def hashed(ids: Sequence[Column]) -> Column:
    """Hash an id."""
    return f.xxhash64(*ids)


@dataclass(frozen=True)
class Pack:
    """Sort hashes, and pass the different ones on as blocks, each of one bucket."""

    buckets: int
    block: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pack so many at a time."""
        waiting: list[NDArray[np.uint64]] = []
        for batch in batches:
            waiting.append(batch.column(0).to_numpy().view(np.uint64))
            if sum(map(len, waiting)) >= self.block:
                yield self._packed(np.concatenate(waiting))
                waiting = []
        if waiting:
            yield self._packed(np.concatenate(waiting))

    def _packed(self, hashes: NDArray[np.uint64]) -> pa.RecordBatch:
        hashes = _different(hashes)
        half = np.uint64(32)
        buckets = (hashes >> half) * np.uint64(self.buckets) >> half
        cuts = np.searchsorted(buckets, np.arange(self.buckets + 1, dtype=np.uint64))
        blocks = [hashes[begin:end].tobytes() for begin, end in pairwise(cuts)]
        return pa.record_batch(
            {"bucket": pa.array(range(self.buckets), pa.int32()), "block": pa.array(blocks)}
        )


def _count(blocks: pa.Table) -> pa.Table:
    """Count the different hashes of a bucket."""
    hashes = np.concatenate(
        [np.frombuffer(each.as_buffer(), np.uint64) for each in blocks["block"]]
    )
    return pa.table({"hashes": [len(_different(hashes))]})


def _different(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort hashes, and keep one of each; NumPy's own function hashes them, which takes twenty times as long."""
    hashes = np.sort(hashes)
    new: NDArray[np.bool_] = np.diff(hashes, prepend=~hashes[:1]) != 0
    return hashes[new]

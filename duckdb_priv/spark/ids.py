"""Counts distinct ids exactly, without shuffling them as rows.

Whole numbers of a dense range are counted as bits of bitmaps. Other ids are hashed to 64 bits. Each task sorts its
hashes and splits them by their first bits into blocks, so that equal hashes are in blocks of the same bucket. If no two
hashes are equal, no two ids are. Otherwise the ids themselves are counted. Among a billion texts, equal hashes occur by
chance in 3 of 100 tables; the hashes of single whole numbers never collide.
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
"""The largest number of bitmap bits per id, so that bitmaps take no more bytes than hashes."""
IDS_OF_BLOCK = 1 << 20
"""Hashes that a task sorts at once."""
IDS_OF_TASK = 1 << 22
"""Average hashes of a bucket, which one task counts."""


def present(ids: Sequence[Column]) -> Column:
    """Return the condition that no column of an id is NULL."""
    return reduce(and_, (each.isNotNull() for each in ids))


def count_distinct(frame: DataFrame, ids: Sequence[Column], with_id: int) -> int:
    """Count the distinct ids of the ``with_id`` records that have an id."""
    identified = frame.where(present(ids)).select(*ids)
    (first, *more) = identified.schema.fields
    if not more and isinstance(first.dataType, spark.IntegralType):
        ((low, high),) = identified.agg(f.min(ids[0]), f.max(ids[0])).collect()
        if low is not None and high - low < BITS_PER_ID * with_id:
            return _count_bits(identified, ids[0].cast("bigint") - f.lit(low).cast("bigint"))
    # Equal floating-point numbers inside lists may have different hashes.
    by_hash = not any(has_floats(each.dataType) for each in (first, *more))
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

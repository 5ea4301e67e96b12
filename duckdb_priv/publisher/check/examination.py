"""What every check looks at: the source, a sample of it as numbers, and its columns at a glance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.determination import Codes
from duckdb_priv.publisher.check.names import named_like_an_identifier
from duckdb_priv.sqltext.quoting import identifier

SAMPLE = 50_000
"""Records in which suspects are looked for; what is found among them is then counted in the whole table."""
TEXTS = 2_000
"""Records whose texts are compared with patterns."""
CLASSES = 200_000
"""Groups that are counted at most, about: of more, whole groups are sampled by their hash."""
MANY = 0.005
"""Values per record from which on a column may identify."""
ENOUGH = 1_000
"""Records of the sample that must have a value before it says that a column has few different ones. Of a column with
more than 2% as many values as records, it then shows as few as MANY with a probability below 1e-4."""


@dataclass(frozen=True)
class Profile:
    """A column at a glance."""

    present: int
    """Records that have a value."""
    distinct: int
    """About how many different values there are."""


@dataclass(frozen=True)
class Distinctness:
    """How many records have a value of some columns for themselves."""

    alone: float
    """Share of the records that have one."""
    per_value: float
    """Records of a value, on average."""
    most: int
    """Records of the most frequent value that was looked at."""
    rate: int
    """One of how many values was looked at."""


class Examination:
    """A source under examination. Its temporary tables end with the transaction or the cursor."""

    def __init__(
        self,
        workspace: Workspace,
        source: Source,
        *,
        certainty: float = 0.95,
        thorough: bool = True,
    ) -> None:
        self.workspace = workspace
        self.source = source
        self.certainty = certainty
        """The posterior from which on a value counts as known."""
        self.thorough = thorough
        """Whether to look for everything, or only for what publishing refuses or warns of."""
        published = {*source.public, *source.sensitive}
        self.columns = tuple(
            name
            for name in source.types
            if name in published or (named_like_an_identifier(name) and source.record_id != (name,))
        )
        """The columns that anything is asked of."""
        self.asked = aggregates_of(workspace, source)

    @cached_property
    def sample(self) -> str:
        """What the records of the sample are read from: the source itself where it is small."""
        return self.asked.sample(self.columns, self.share(SAMPLE))

    @property
    def rows(self) -> int:
        """Records of the source."""
        return self.source.rows

    @property
    def whole(self) -> bool:
        """Whether the sample is the whole table."""
        return self.rows <= SAMPLE

    @property
    def sampled(self) -> str:
        """Return what the sample is."""
        return "all records" if self.whole else f"a sample of about {SAMPLE:,} records"

    def sql(self, fragment: str, **fillings: str) -> str:
        """Return a query of the folder publisher/check, about this source."""
        return self.asked.sql("check", fragment, **fillings)

    def query(self, fragment: str, **fillings: str) -> list[tuple[Any, ...]]:
        """Run a query of the folder publisher/check."""
        return self.workspace.rows(self.sql(fragment, **fillings))

    def sampling(self, records: int, among: int | None = None) -> str:
        """Write the clause that leaves about so many records, of the source or ``among`` as many as are said."""
        share = self.share(records, among)
        return "" if share == 1 else f"USING SAMPLE {100 * share!r}% (bernoulli)"

    def share(self, records: int, among: int | None = None) -> float:
        """Return the share of the records of the source, or of as many as are said, that so many are."""
        return min(1.0, records / (among or self.rows))

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """Number the values of every column of the sample, the missing one, if any, at last."""
        return {name: codes for name, (codes, *_) in self._numbered.items()}

    @property
    def hashes(self) -> dict[str, Integers]:
        """The hashes of the values of every column of the sample, by their numbers."""
        return {name: hashes for name, (*_, hashes) in self._numbered.items()}

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """Profile every column: in the sample, and in the table where that does not say that it has few values."""
        seen = {name: profile for name, (_, profile, _) in self._numbered.items()}
        if self.whole:
            return seen
        share = self.rows / max(1, self._sampled)
        found = {
            name: Profile(round(share * each.present), each.distinct)
            for name, each in seen.items()
            if each.present >= ENOUGH and each.distinct < MANY * each.present
        }
        if many := [name for name in seen if name not in found]:
            of_columns = self.asked.profiles(many)
            found |= {name: Profile(*of) for name, of in zip(many, of_columns, strict=True)}
        return found

    @cached_property
    def _numbered(self) -> dict[str, tuple[Codes, Profile, Integers]]:
        hashes = ", ".join(
            f"CASE WHEN {name} IS NOT NULL THEN hash({name}) END"
            for name in map(identifier, self.columns)
        )
        query = self.sql("hashes", hashes=hashes, sample=self.sample)
        table = self.workspace.cursor.sql(query).to_arrow_table()
        return {name: _numbered(of) for name, of in zip(self.columns, table.columns, strict=True)}

    @property
    def _sampled(self) -> int:
        return next((len(of.of) for of in self.codes.values()), 0)

    def rate(self, groups: float) -> int:
        """Return how many classes groups are divided into, of which one is looked at."""
        return max(1, math.ceil(groups / CLASSES))

    def distinctness(self, columns: Sequence[str], groups: float) -> Distinctness:
        """Count the records that have a value of columns for themselves, of about so many values in all."""
        if self.whole:
            return self._distinctness_in_sample(columns)
        rate = self.rate(groups)
        values, records, alone, most = self.asked.distinctness(columns, rate)
        if not records:
            return Distinctness(0.0, 0.0, 0, rate)
        share = self.profiles[columns[0]].present / self.rows if len(columns) == 1 else 1.0
        return Distinctness(share * alone / records, records / values, most, rate)

    def _distinctness_in_sample(self, columns: Sequence[str]) -> Distinctness:
        counts = reduce(and_, (self.codes[name] for name in columns)).counts
        if len(columns) == 1:
            counts = counts[: self.profiles[columns[0]].distinct]
        if not counts.size:
            return Distinctness(0.0, 0.0, 0, 1)
        alone = int((counts == 1).sum())
        return Distinctness(alone / self.rows, float(counts.mean()), int(counts.max()), 1)

    def basis(self, rate: int = 1) -> str:
        """Return which groups were counted."""
        if rate == 1:
            return f"all {self.rows:,} records"
        return f"all records of every {rate}th value, by hash, among {self.rows:,} records"


def _numbered(column: pa.ChunkedArray) -> tuple[Codes, Profile, Integers]:
    """Number the values of a column, and count them; return the hash of each value, too."""
    found, missing = pc.dictionary_encode(column.combine_chunks()), column.null_count
    distinct = len(found.dictionary)
    numbers = found.indices.fill_null(distinct).to_numpy().astype(np.int64)
    profile = Profile(len(column) - missing, distinct)
    return Codes(numbers, distinct + bool(missing)), profile, found.dictionary.to_numpy()

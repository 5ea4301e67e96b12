"""The data that all checks share: the source, a numeric sample of it, and a profile of each column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duckdb_priv.engine.aggregates import Aggregates, aggregates_of
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.determination import Codes
from duckdb_priv.sqltext.quoting import identifier

SAMPLE = 50_000
"""The sample size for finding suspicious columns, which are then counted in the whole table."""
TEXTS = 2_000
"""The number of records whose texts are matched against patterns."""
CLASSES = 200_000
"""About the most groups that are counted. If there are more, whole groups are sampled by hash."""
MANY = 0.005
"""The ratio of distinct values to records from which a column may identify people."""
ENOUGH = 1_000
"""The fewest sampled values from which to conclude that a column has few distinct ones. If a column has more than 2% as
many values as records, the sample shows as few as MANY with probability below 1e-4."""
SUBJECTS = frozenset(
    {"patient", "person", "subject", "customer", "client", "member", "employee", "user", "account"}
    | {"respondent", "participant", "household", "encounter", "visit", "case", "record"}
)
"""Words for the people or things that an identifier belongs to."""
NUMBERS = frozenset(
    {"id", "ids", "uid", "guid", "uuid", "key", "nbr", "number", "num", "nr", "no", "ref", "code"}
)
"""Words for the identifier itself, which follow those."""
NAMES = (
    SUBJECTS
    | NUMBERS
    | {"ssn", "nin", "nhs", "mrn", "iban", "bsn", "vin", "imei", "imsi", "ip", "mac", "passport"}
    | {"mail", "email", "phone", "telephone", "tel", "mobile", "fax", "login", "username", "name"}
    | {"surname", "lastname", "firstname", "fullname", "licence", "license", "plate", "barcode"}
)
"""Words that end the names of identifier columns."""
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


@dataclass(frozen=True)
class Profile:
    """The number of values and of distinct values in a column."""

    present: int
    """The number of records with a value."""
    distinct: int
    """The approximate number of distinct values."""


@dataclass(frozen=True)
class Distinctness:
    """How many records have a unique value in some columns."""

    alone: float
    """Share of the records with a unique value."""
    per_value: float
    """The average number of records of a value."""
    most: int
    """The number of records of the most frequent sampled value."""
    rate: int
    """One of this many values was sampled."""


@dataclass
class Examination:
    """A source under examination. Its temporary tables end with the transaction or the cursor."""

    workspace: Workspace
    source: Source
    certainty: float = 0.95
    """The posterior from which a value counts as known."""
    thorough: bool = True
    """Whether to find everything, or only what publishing refuses or warns about."""

    @cached_property
    def asked(self) -> Aggregates:
        """The counts and samples of the source."""
        return aggregates_of(self.workspace, self.source)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that any check reads."""
        published, ids = {*self.source.public, *self.source.sensitive}, self.source.record_id
        return tuple(
            name
            for name in self.source.types
            if name in published or (named_like_an_identifier(name) and ids != (name,))
        )

    @cached_property
    def sample(self) -> str:
        """The table expression of the sample; the source itself if it is small."""
        return self.asked.sample(self.columns, self.share(SAMPLE))

    @property
    def rows(self) -> int:
        """The number of records of the source."""
        return self.source.rows

    @property
    def whole(self) -> bool:
        """Whether the sample is the whole table."""
        return self.rows <= SAMPLE

    @property
    def sampled(self) -> str:
        """Write which records are in the sample."""
        return "all records" if self.whole else f"a sample of about {SAMPLE:,} records"

    def sql(self, fragment: str, **fillings: str) -> str:
        """Return a query from the folder publisher/check, filled for this source."""
        return self.asked.sql("check", fragment, **fillings)

    def query(self, fragment: str, **fillings: str) -> list[tuple[Any, ...]]:
        """Run a query from the folder publisher/check."""
        return self.workspace.rows(self.sql(fragment, **fillings))

    def sampling(self, records: int, among: int | None = None) -> str:
        """Write the clause that samples about ``records`` records, from the source or from ``among`` records."""
        share = self.share(records, among)
        return "" if share == 1 else f"USING SAMPLE {100 * share!r}% (bernoulli)"

    def share(self, records: int, among: int | None = None) -> float:
        """Return the share that ``records`` are of the source, or of ``among`` records; at most 1."""
        return min(1.0, records / (among or self.rows))

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """The values of every column of the sample as numbers; the missing value, if any, has the last number."""
        return {name: codes for name, (codes, *_) in self._numbered.items()}

    @property
    def hashes(self) -> dict[str, Integers]:
        """For every column of the sample: the hash of each distinct value, in the order of its number."""
        return {name: hashes for name, (*_, hashes) in self._numbered.items()}

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """The profile of every column: from the sample, or from the table unless the sample shows few values."""
        seen = {name: profile for name, (_, profile, _) in self._numbered.items()}
        if self.whole:
            return seen
        sampled = next((len(of.of) for of in self.codes.values()), 0)
        share = self.rows / max(1, sampled)
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

    def rate(self, groups: float) -> int:
        """Return the number of classes to divide groups into, of which one is sampled."""
        return max(1, math.ceil(groups / CLASSES))

    def distinctness(self, columns: Sequence[str], groups: float) -> Distinctness:
        """Count the records with a unique value in ``columns``; ``groups`` is about their number of distinct values."""
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
        """Write which groups were counted."""
        if rate == 1:
            return f"all {self.rows:,} records"
        return f"all records of every {rate}th value, by hash, among {self.rows:,} records"


def _numbered(column: pa.ChunkedArray) -> tuple[Codes, Profile, Integers]:
    """Return the values of a column as numbers, its profile, and the hash of each distinct value."""
    found, missing = pc.dictionary_encode(column.combine_chunks()), column.null_count
    distinct = len(found.dictionary)
    numbers = found.indices.fill_null(distinct).to_numpy().astype(np.int64)
    profile = Profile(len(column) - missing, distinct)
    return Codes(numbers, distinct + bool(missing)), profile, found.dictionary.to_numpy()


def named_like_an_identifier(column: str) -> bool:
    """Return whether a column name ends like that of an identifier.

    >>> [named_like_an_identifier(name) for name in ("patient_nbr", "PatientID", "E-Mail", "userid")]
    [True, True, True, True]
    >>> [named_like_an_identifier(name) for name in ("age", "paid", "humid", "id_type")]
    [False, False, False, False]
    """
    words = [word.lower() for word in WORDS.split(column) if word]
    return bool(words) and (
        words[-1] in NAMES
        or any(words[-1] == subject + number for subject in SUBJECTS for number in NUMBERS)
    )

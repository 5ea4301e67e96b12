"""What every check looks at: the source, a sample of it in long form, and its columns at a glance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.templates import body, fill, read

SAMPLE = 50_000
"""Records in which suspects are looked for; what is found among them is then counted in the whole table."""
TEXTS = 2_000
"""Records whose texts are compared with patterns."""
CLASSES = 1_000_000
"""Groups that are counted at most, about: of more, whole groups are sampled by their hash."""


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
        self.number = {name: number for number, name in enumerate(source.types)}
        hashes = ", ".join(f"hash({identifier(name)})" for name in source.types)
        workspace.cursor.execute(self.sql("cells", hashes=hashes, sampling=self.sampling(SAMPLE)))

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
        """Say what the sample is."""
        return "all records" if self.whole else f"a sample of about {SAMPLE:,} records"

    def sql(self, fragment: str, **fillings: str) -> str:
        """Return a query of the folder publisher/check, about this source."""
        return fill(
            body(read("publisher/check", fragment)), {"source": self.source.table, **fillings}
        )

    def query(self, fragment: str, **fillings: str) -> list[tuple[Any, ...]]:
        """Run a query of the folder publisher/check."""
        return self.workspace.rows(self.sql(fragment, **fillings))

    def numbers(self, columns: Sequence[str]) -> str:
        """List columns as the sample numbers them."""
        return ", ".join(str(self.number[name]) for name in columns)

    def sampling(self, records: int) -> str:
        """Write the clause that leaves about so many records."""
        if self.rows <= records:
            return ""
        return f"USING SAMPLE {100 * records / self.rows!r}% (bernoulli)"

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """Look at every column."""
        names = [identifier(name) for name in self.source.types]
        rows = self.query(
            "profile",
            present=", ".join(f"count({name})" for name in names),
            distinct=", ".join(f"approx_count_distinct({name})" for name in names),
        )
        found = {number: Profile(present, values) for number, present, values in rows}
        return {name: found[number] for name, number in self.number.items()}

    def rate(self, groups: float) -> int:
        """Return how many classes groups are divided into, of which one is looked at."""
        return max(1, math.ceil(groups / CLASSES))

    def distinctness(self, columns: Sequence[str], groups: float) -> Distinctness:
        """Count the records that have a value of columns for themselves, of about so many values in all."""
        rate = self.rate(groups)
        names = [identifier(name) for name in columns]
        values, records, alone, most = self.query(
            "distinctness",
            columns=identifiers(columns),
            present=f"{names[0]} IS NOT NULL" if len(names) == 1 else "true",
            rate=str(rate),
        )[0]
        if not records:
            return Distinctness(0.0, 0.0, 0, rate)
        share = self.profiles[columns[0]].present / self.rows if len(names) == 1 else 1.0
        return Distinctness(share * alone / records, records / values, most, rate)

    def basis(self, rate: int = 1) -> str:
        """Say which groups were counted."""
        if rate == 1:
            return f"all {self.rows:,} records"
        return f"all records of every {rate}th value, by hash, among {self.rows:,} records"

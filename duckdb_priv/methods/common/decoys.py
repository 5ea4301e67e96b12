"""Assigning records to decoy groups in SQL: rank them within their values, group them, draw their shown values.

A record's rank within its value has two parts: the records of that value in lower ranges of the order bits, which the
plan knows from counts, and its rank within the range. So no sort is larger than a range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import cell_sql, order_sql, word_sql
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.anatomy import LargestFirstGroups
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.mechanism.decoy_groups import (
    GroupPlan,
    MixedGroups,
    RangedGroups,
    WordStreams,
    leave_out,
)
from duckdb_priv.mechanism.eligibility import require_eligible
from duckdb_priv.methods.common.assigning import Assigned, Grouping, context_of, range_bits
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import columns_sql
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.signed import signed, unsigned
from duckdb_priv.sqltext.templates import place

GROUPINGS: dict[str, type[GroupPlan]] = {
    "mixed": MixedGroups,
    "largest_first": LargestFirstGroups,
}
"""By name: the way to divide a histogram into groups."""

SHOWN = "temp.main._priv_shown"
"""The value that each record shows, by its mark and the codes of its true values."""


@dataclass(frozen=True)
class Key:
    """The key that draws the groups of one attribute."""

    words: randomness.KeyedWords
    fingerprint: str


def key_of_groups(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    n: int,
    grouping: Grouping,
    assigned: Assigned,
) -> Key:
    """Derive a key from everything that defines the groups, including the records; or make a fresh one.

    The key depends on the sum and the parity of the records' keyed order bits. So someone without the secret cannot
    find two tables with the same sums, and any change of a table redraws all groups.
    """
    if not source.record_id:
        secret = randomness.new_secret()
        return Key(randomness.KeyedWords.derive(secret, ""), randomness.fingerprint(secret))
    records = assigned.answers.digest(n)
    secret = workspace.secret()
    text = to_json(
        context_of(domain, grouping)
        | {"purpose": "groups", "records": records, "population": source.population}
    )
    return Key(randomness.KeyedWords.derive(secret, text), randomness.fingerprint(secret, text))


@dataclass(frozen=True)
class Ranges:
    """Counts of the grouped records, by value and by range of the order bits."""

    counts: tuple[Counts, ...]
    """By attribute: an array of shape (values, ranges)."""
    bits: tuple[int, ...]
    """By attribute: the number of leading order bits that identify a range."""
    kept: str = "true"
    """Condition on rows of ASSIGNED: the records that are grouped."""
    left_out: int = 0

    @property
    def rows(self) -> int:
        """Number of grouped records."""
        return int(self.counts[0].sum())


def count_ranges(assigned: Assigned, domains: Sequence[Domain], gamma: int) -> Ranges:
    """Return the counts of the assigned records; raises InvalidParameter if they cannot be grouped."""
    bits = tuple(range_bits(sum(domain.counts), domain.size) for domain in domains)
    counts = []
    for n, domain in enumerate(domains):
        counts.append(assigned.answers.counts(n, domain.size, bits[n]))
        require_eligible(counts[n].sum(axis=1), gamma, domain.attribute)
    return Ranges(tuple(counts), bits)


def without_surplus(assigned: Assigned, ranges: Ranges, gamma: int, words: WordStreams) -> Ranges:
    """Leave out records until the others fill whole groups.

    Fewer than gamma records are left out. They are chosen by the first attribute, each with the same probability. All
    attributes stay eligible: a count of at most rows / gamma is at most the number of whole groups.
    """
    histogram = ranges.counts[0].sum(axis=1)
    surplus = histogram - leave_out(histogram, gamma, words)
    last = {}
    for code in np.flatnonzero(surplus).tolist():
        from_here = np.cumsum(ranges.counts[0][code, ::-1])[::-1]
        last[code] = (
            int(surplus[code]),
            int(np.flatnonzero(from_here >= surplus[code])[-1]),
        )
    counts = tuple(each.copy() for each in ranges.counts)
    first: dict[int, tuple[int, int]] = {}
    left_out = assigned.answers.last(last, len(counts), ranges.bits[0])
    for record in left_out:
        for n, (code, order, _) in enumerate(record):
            counts[n][code, order >> (64 - ranges.bits[n])] -= 1
        code, *random_bits = record[0]
        first[code] = min(first.get(code, (1 << 64, 0)), (random_bits[0], random_bits[1]))
    kept = " AND ".join(
        f"NOT (_code0 = {code} AND ({order_sql(0)} > {order}::UBIGINT OR"
        f" ({order_sql(0)} = {order}::UBIGINT AND {word_sql(0)} >= {word}::UBIGINT)))"
        for code, (order, word) in sorted(first.items())
    )
    return Ranges(counts, ranges.bits, kept or "true", len(left_out))


def rank_sql(n: int, bits: int = 0) -> str:
    """Return SQL for the rank of a record within its value and range, ordered by keyed hash."""
    order = f"{order_sql(n)}, {word_sql(n)}"
    return f"row_number() OVER (PARTITION BY {cell_sql(n, bits)} ORDER BY {order}) - 1"


def show(
    assigned: Assigned,
    source: Source,
    domains: Sequence[Domain],
    keys: Sequence[Key],
    grouping: Grouping,
    ranges: Ranges,
    *,
    reported: bool = False,
) -> Kernel:
    """Return the kernel that groups the records by every attribute and makes the published rows.

    With ``reported``, the table SHOWN of the records' shown values is a step of the kernel.
    """
    # A source that is spread over processes, or does not fit in memory, is processed block by block.
    whole = not (assigned.elsewhere or assigned.spilled)
    make = partial(GROUPINGS[grouping.name], whole=whole)
    made = [
        RangedGroups.of(make(counts.sum(axis=1), grouping.gamma, key.words), counts)
        for counts, key in zip(ranges.counts, keys, strict=True)
    ]
    if assigned.elsewhere:
        return in_stages(
            assigned.kernel,
            source,
            made,
            [rank_sql(n, bits) for n, bits in enumerate(ranges.bits)],
            ranges.kept,
            partial(published_sql, source, domains),
        )
    rows = f"(FROM {assigned.table} WHERE {ranges.kept})"
    numbers = range(len(domains))
    for n, bits in enumerate(ranges.bits):
        columns = [f"_public{each}" for each in range(len(source.public))]
        columns += [f"_shown{each}" for each in numbers[:n]]
        columns += [name(each) for each in numbers[n + 1 :] for name in (order_sql, word_sql)]
        columns += [f"_code{each}" for each in (numbers if reported else numbers[n + 1 :])]
        carried = "".join(f"{each}, " for each in [*columns, *(["_mark"] if reported else [])])
        ranked = (
            f"SELECT {carried}{cell_sql(n, bits)} AS _cell{n},"
            f" {rank_sql(n, bits)} AS _rank{n}, {word_sql(n)} FROM {rows}"
        )
        rows = (
            f"(SELECT {carried}_priv_decoy({place(f'groups{n}')}::UBIGINT, 0::UINTEGER,"
            f" _cell{n}, _rank{n}, _word{n}) AS _shown{n} FROM ({ranked}))"
        )
    steps = list(assigned.kernel.steps)
    if reported:
        steps.append(Step(SHOWN, f"FROM {rows}"))
        rows = SHOWN
    return replace(
        assigned.kernel,
        select=published_sql(source, domains, rows),
        groups={f"groups{n}": of for n, of in enumerate(made)},
        steps=tuple(steps),
    )


def published_sql(source: Source, domains: Sequence[Domain], shown: str) -> str:
    """Return the query of the published rows, in no particular order, from the codes of shown values."""
    values = {
        domain.attribute: domain.published_at(f"_shown{n}") for n, domain in enumerate(domains)
    }
    return f"SELECT {columns_sql(source, values, 'shown.')} FROM {shown} AS shown"


class Column(NamedTuple):
    """A column that one stage passes to the next."""

    name: str
    type: str
    made: str
    """SQL for the column in the stage that makes it."""
    read: str
    """SQL that the next stage reads it as."""


def in_stages(
    assigning: Kernel,
    source: Source,
    groups: Sequence[RangedGroups],
    ranks: Sequence[str],
    kept: str,
    published: Callable[[str], str],
) -> Kernel:
    """Return the stages that draw the records' bits, and group the records by one attribute after the other.

    ``assigning`` draws codes and random bits. ``ranks`` is SQL for the ranks of a record within its cells, and ``kept``
    is the condition on the records that are grouped. ``published`` returns the query of the rows from the shown values.
    """
    attributes = range(len(groups))
    public = [
        Column(name, source.types[name], f"_public{n}", f"{identifier(name)} AS _public{n}")
        for n, name in enumerate(source.public)
    ]
    row = [*public, *(each for n in attributes for each in _random_bits(n)), _cell(0, groups[0])]
    stages = [replace(assigning, select=f"SELECT {_made(row)} FROM ({assigning.select})")]
    rows = f"(FROM ({_read(row)}) WHERE {kept})"
    for n, of in enumerate(groups):
        number = f"{place(f'groups{n}')}::UBIGINT"
        ranked = f"SELECT *, {ranks[n]} AS _rank{n} FROM {rows}"
        done = [*public, *map(_shown, attributes[:n])]
        todo = [each for m in attributes[n + 1 :] for each in _random_bits(m)]
        ranking = Kernel(
            _types(row), "", groups={f"groups{n}": of}, alone=False, together=(f"_priv_cell{n}",)
        )
        if of.plan.blocks > 1:
            block = f"SELECT *, _priv_block({number}, _cell{n}, _rank{n}) AS _block{n}"
            row = [*done, *todo, *_ranked(n)]
            stages.append(
                replace(ranking, select=f"SELECT {_made(row)} FROM ({block} FROM ({ranked}))")
            )
            ranked = _read(row)
            ranking = replace(ranking, reads=_types(row), alone=True, together=(f"_priv_block{n}",))
        else:
            ranked = f"SELECT *, 0::UINTEGER AS _block{n} FROM ({ranked})"
        shown = (
            f"SELECT *, _priv_decoy({number}, _block{n}, _cell{n}, _rank{n}, _word{n}) AS _shown{n}"
            f" FROM ({ranked})"
        )
        row = [*done, _shown(n), *todo, *(_cell(m, groups[m]) for m in attributes[n + 1 : n + 2])]
        stages.append(replace(ranking, select=f"SELECT {_made(row)} FROM ({shown})"))
        rows = f"({_read(row)})"
    last = Kernel(_types(row), published(rows), tables=assigning.tables)
    return replace(last, before=tuple(stages))


def _random_bits(n: int) -> list[Column]:
    """Pass on the code of a true value, and its bits."""
    order, word = f"_priv_order{n}", f"_priv_word{n}"
    return [
        Column(f"_priv_code{n}", "UINTEGER", f"_code{n}", f"_priv_code{n} AS _code{n}"),
        Column(order, "BIGINT", signed(order_sql(n)), f"{unsigned(order)} AS _order{n}"),
        Column(word, "BIGINT", signed(word_sql(n)), f"{unsigned(word)} AS _word{n}"),
    ]


def _cell(n: int, groups: RangedGroups) -> Column:
    """Pass on the cell, which is the partition key for ranking."""
    name = f"_priv_cell{n}"
    return Column(
        name, "UINTEGER", f"({cell_sql(n, groups.bits)})::UINTEGER", f"{name} AS _cell{n}"
    )


def _ranked(n: int) -> list[Column]:
    """Pass on the position of a record in the plan, and the bits that draw its shown value."""
    word = f"_priv_word{n}"
    return [
        Column(f"_priv_cell{n}", "UINTEGER", f"_cell{n}", f"_priv_cell{n} AS _cell{n}"),
        Column(f"_priv_rank{n}", "BIGINT", f"_rank{n}", f"_priv_rank{n} AS _rank{n}"),
        Column(f"_priv_block{n}", "UINTEGER", f"_block{n}", f"_priv_block{n} AS _block{n}"),
        Column(word, "BIGINT", signed(f"_word{n}"), f"{unsigned(word)} AS _word{n}"),
    ]


def _shown(n: int) -> Column:
    return Column(f"_priv_shown{n}", "UINTEGER", f"_shown{n}", f"_priv_shown{n} AS _shown{n}")


def _made(row: Sequence[Column]) -> str:
    return ", ".join(f"{each.made} AS {identifier(each.name)}" for each in row)


def _read(row: Sequence[Column]) -> str:
    return f"SELECT {', '.join(filter(None, (each.read for each in row)))} FROM {place(RECORDS)}"


def _types(row: Sequence[Column]) -> dict[str, str]:
    return {each.name: each.type for each in row}

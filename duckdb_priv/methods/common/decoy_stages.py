"""Dealing records into decoy groups in stages, over which records can be spread: the same rows as in one go.

The records of a cell (a value, and a range of the order bits) come together to be ranked. Then those of a block of
groups do, which is made once, and each is given what it shows; and so on with the next attribute. A stage holds a cell
or a block at a time, and what a record shows depends on the plan only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from duckdb_priv.engine.aggregates import cell_sql, order_sql, word_sql
from duckdb_priv.engine.kernel import RECORDS, Kernel
from duckdb_priv.engine.source import Source
from duckdb_priv.mechanism.ranged_groups import RangedGroups
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.signed import signed, unsigned
from duckdb_priv.sqltext.templates import place


class Column(NamedTuple):
    """What a stage hands on of a record."""

    name: str
    type: str
    made: str
    """What it is in the stage that makes it."""
    read: str
    """What it becomes in the next one."""


def in_stages(
    dealing: Kernel,
    source: Source,
    groups: Sequence[RangedGroups],
    ranks: Sequence[str],
    kept: str,
    published: Callable[[str], str],
) -> Kernel:
    """Return the stages that give records their bits, and group them by one attribute after the other.

    ``dealing`` gives their codes and random bits, ``ranks`` are the ranks of a record within its cells,
    ``kept`` are the records that are not left out, and ``published`` writes the query of the rows from what is shown.
    """
    attributes = range(len(groups))
    public = [
        Column(name, source.types[name], f"_public{n}", f"{identifier(name)} AS _public{n}")
        for n, name in enumerate(source.public)
    ]
    row = [*public, *(each for n in attributes for each in _coins(n)), _cell(0, groups[0])]
    stages = [replace(dealing, select=f"SELECT {_made(row)} FROM ({dealing.select})")]
    rows = f"(FROM ({_read(row)}) WHERE {kept})"
    for n, of in enumerate(groups):
        number = f"{place(f'groups{n}')}::UBIGINT"
        ranked = f"SELECT *, {ranks[n]} AS _rank{n}, {word_sql(n)} AS _word{n} FROM {rows}"
        done = [*public, *map(_shown, attributes[:n])]
        todo = [each for m in attributes[n + 1 :] for each in _coins(m)]
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
    last = Kernel(_types(row), published(rows), tables=dealing.tables)
    return replace(last, before=tuple(stages))


def _coins(n: int) -> list[Column]:
    """Hand on the code of a true value, and its bits."""
    order, word = f"_priv_order{n}", f"_priv_word{n}"
    halves = f"first_half := {unsigned(order)}, second_half := {unsigned(word)}"
    return [
        Column(f"_priv_code{n}", "UINTEGER", f"_code{n}", f"_priv_code{n} AS _code{n}"),
        Column(order, "BIGINT", signed(order_sql(n)), f"struct_pack({halves}) AS _coins{n}"),
        Column(word, "BIGINT", signed(word_sql(n)), ""),
    ]


def _cell(n: int, groups: RangedGroups) -> Column:
    """Hand on by what records come together to be ranked."""
    name = f"_priv_cell{n}"
    return Column(
        name, "UINTEGER", f"({cell_sql(n, groups.bits)})::UINTEGER", f"{name} AS _cell{n}"
    )


def _ranked(n: int) -> list[Column]:
    """Hand on where a record is in the plan, and the bits that draw what it shows."""
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

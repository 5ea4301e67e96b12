"""Dealing records into decoy groups, set-wise: rank them within their values, group, draw what is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.engine import randomness, udfs
from duckdb_priv.engine.kernel import create_table
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Counts
from duckdb_priv.mechanism.decoy_groups import (
    DecoyGroups,
    WordStreams,
    largest_first_groups,
    leave_out,
    mixed_groups,
)
from duckdb_priv.mechanism.eligibility import require_eligible
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import open_coins
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import body, fill, read

GROUPINGS: dict[str, Callable[[NDArray[np.int64], int, WordStreams], DecoyGroups]] = {
    "mixed": mixed_groups,
    "largest_first": largest_first_groups,
}
"""By name: how a histogram is cut into groups."""

DEALT = "temp.main._priv_dealt"
SHOWN = "temp.main._priv_shown"
MARK = "_coins0.mark"
"""What a record of DEALT is known by later."""


@dataclass(frozen=True)
class Grouping:
    """How each sensitive attribute is grouped."""

    mechanism: str
    gamma: int
    name: str
    """One of GROUPINGS."""


def deal(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    grouping: Grouping,
    mark: int | None,
) -> None:
    """Write the temporary table DEALT: the code and the coins of every record, by attribute.

    ``mark`` is the stream of the marks, which come with the coins of the first attribute (MARK).
    """
    coins = []
    for n, domain in enumerate(domains):
        context = _context(domain, grouping) | {"purpose": "order and draw"}
        stream = workspace.open_stream(open_coins(workspace, source, context).bits)
        marks = "NULL" if mark is None or n else str(mark)
        coins.append(
            f"_priv_coins({marks}::UBIGINT, {stream}::UBIGINT, _number, _text, _code{n}) AS _coins{n}"
        )
    number, text = source.id_arguments
    public = (f"s.{identifier(name)} AS _public{n}, " for n, name in enumerate(source.public))
    query = fill(
        body(read("publisher/fragments", "deal")),
        {
            "public": "".join(public),
            "id_number": number,
            "id_text": text,
            "codes": ", ".join(f"d{n}.position AS _code{n}" for n in range(len(domains))),
            "source": f"{source.table} AS s",
            "domains": " ".join(
                f"JOIN {domain.table} AS d{n} ON d{n}.value IS NOT DISTINCT FROM"
                f" s.{key_expression(domain.attribute, domain.source_type)}"
                for n, domain in enumerate(domains)
            ),
            "coins": ", ".join(coins),
        },
    )
    for domain in domains:
        create_table(workspace.cursor, domain.table, domain.laid_out())
    workspace.cursor.execute(f"CREATE TEMP TABLE {DEALT.split('.')[-1]} AS {query}")


def _context(domain: Domain, grouping: Grouping) -> dict[str, object]:
    """Name what defines the coins of one attribute, but for the records."""
    return {
        "mechanism": grouping.mechanism,
        "attribute": domain.attribute.lower(),
        "domain": domain.digest,
        "gamma": grouping.gamma,
        "grouping": grouping.name,
    }


@dataclass(frozen=True)
class Key:
    """What the groups of one attribute are drawn with."""

    words: randomness.KeyedWords
    fingerprint: str


def key_of_groups(
    workspace: Workspace, source: Source, domain: Domain, n: int, grouping: Grouping
) -> Key:
    """Derive a key from everything that defines the groups, the records included; or take a fresh one.

    The records enter by the sum and the parity of their keyed order bits: whoever does not have the secret
    cannot find two tables of the same sums, and a table that differs at all is grouped all anew.
    """
    if not source.record_id:
        secret = randomness.new_secret()
        return Key(randomness.KeyedWords.derive(secret, ""), randomness.fingerprint(secret))
    (records,) = workspace.rows(
        f"SELECT count(*) || '/' || bit_xor({order_sql(n)}) || '/' || sum({order_sql(n)}::HUGEINT) FROM {DEALT}"
    )[0]
    secret = workspace.secret()
    text = to_json(_context(domain, grouping) | {"purpose": "groups", "records": records})
    return Key(randomness.KeyedWords.derive(secret, text), randomness.fingerprint(secret, text))


def counts_of(workspace: Workspace, table: str, column: str, size: int) -> Counts:
    """Count the codes of a column."""
    counts = np.zeros(size, np.int64)
    for code, rows in workspace.rows(f"SELECT {column}, count(*) FROM {table} GROUP BY ALL"):
        counts[code] = rows
    return counts


def labels_of(domain: Domain) -> list[str]:
    """Name the values of a domain for a message."""
    return ["NULL" if value is None else value for value in domain.values]


def drop_surplus(
    workspace: Workspace, domains: Sequence[Domain], gamma: int, words: WordStreams
) -> int:
    """Leave records out of DEALT until groups can be filled, and return how many.

    They are chosen by the first attribute, each record with the same chance, and fewer than gamma. All
    attributes stay eligible: a count of at most rows / gamma is at most the number of whole groups.
    """
    for n, domain in enumerate(domains):
        require_eligible(
            counts_of(workspace, DEALT, f"_code{n}", domain.size), gamma, labels_of(domain)
        )
    counts = counts_of(workspace, DEALT, "_code0", domains[0].size)
    kept = leave_out(counts, gamma, words)
    surplus = [
        f"(_code0 = {code} AND _rank >= {kept[code]})" for code in np.flatnonzero(kept < counts)
    ]
    if surplus:
        workspace.cursor.execute(
            f"DELETE FROM {DEALT} WHERE rowid IN (SELECT _row FROM"
            f" (SELECT rowid AS _row, _code0, {rank_sql(0)} AS _rank FROM {DEALT}) WHERE {' OR '.join(surplus)})"
        )
    return int(counts.sum() - kept.sum())


def order_sql(n: int) -> str:
    """Write the bits that order the records of a value."""
    return f"_coins{n}.first_half"


def word_sql(n: int) -> str:
    """Write the bits that draw what a record shows."""
    return f"_coins{n}.second_half"


def rank_sql(n: int) -> str:
    """Write the rank of a record within its value, in keyed hash order."""
    return f"row_number() OVER (PARTITION BY _code{n} ORDER BY {order_sql(n)}, {word_sql(n)}) - 1"


def show(
    workspace: Workspace,
    source: Source,
    domains: Sequence[Domain],
    keys: Sequence[Key],
    grouping: Grouping,
) -> None:
    """Group DEALT by every attribute, and write the temporary table SHOWN."""
    numbers = []
    for n, (domain, key) in enumerate(zip(domains, keys, strict=True)):
        counts = counts_of(workspace, DEALT, f"_code{n}", domain.size)
        groups = GROUPINGS[grouping.name](counts, grouping.gamma, key.words)
        numbers.append(udfs.open_groups(groups))
    try:
        query = fill(
            body(read("publisher/fragments", "show")),
            {
                "public": "".join(f"_public{n}, " for n in range(len(source.public))),
                "shown": ", ".join(
                    f"_priv_decoy({number}::UBIGINT, _code{n}, _rank{n}, {word_sql(n)}) AS _shown{n}"
                    for n, number in enumerate(numbers)
                ),
                "ranks": ", ".join(f"{rank_sql(n)} AS _rank{n}" for n in range(len(domains))),
                "dealt": DEALT,
            },
        )
        workspace.cursor.execute(f"CREATE TEMP TABLE {SHOWN.split('.')[-1]} AS {query}")
    finally:
        for number in numbers:
            udfs.close_groups(number)


def published_sql(source: Source, domains: Sequence[Domain]) -> str:
    """Write the query that gives the published rows, in no order."""
    of_attribute = {domain.attribute: n for n, domain in enumerate(domains)}
    of_public = {name: n for n, name in enumerate(source.public)}
    columns = ", ".join(
        f"p{of_attribute[name]}.published AS {identifier(name)}"
        if name in of_attribute
        else f"shown._public{of_public[name]} AS {identifier(name)}"
        for name in source.types
        if name in of_attribute or name in of_public
    )
    joins = " ".join(
        f"JOIN {domain.table} AS p{n} ON p{n}.position = shown._shown{n}"
        for n, domain in enumerate(domains)
    )
    return f"SELECT {columns} FROM {SHOWN} AS shown {joins}"

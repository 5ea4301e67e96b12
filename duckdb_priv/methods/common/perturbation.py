"""Perturbing each record by itself: 64 random bits and a few integers determine its shown value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.drawing import Drawing
from duckdb_priv.engine.kernel import DRAWN, RECORDS, Kernel, Table
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.alias import AliasTables
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.release.model import Blocks, shown_type, to_json
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.sqltext.templates import fragment, place


@dataclass(frozen=True)
class RandomBits:
    """The random bits of one perturbed attribute."""

    bits: randomness.KeyedBits | randomness.FreshBits
    fingerprint: str
    fresh: bool


def open_random_bits(
    workspace: Workspace, source: Source, context: dict[str, object]
) -> RandomBits:
    """Derive random bits: keyed by everything that defines them if records have ids, otherwise fresh.

    The key includes the form of the record id, since 7 and '7' have different noise. It also includes the population,
    so equal ids of two populations have independent noise.
    """
    if source.record_id:
        secret = workspace.secret()
        text = to_json({**context, "record_id": source.id_form, "population": source.population})
        bits = randomness.KeyedBits.derive(secret, text)
        return RandomBits(bits, randomness.fingerprint(secret, text), fresh=False)
    return RandomBits(
        randomness.FreshBits(), randomness.fingerprint(randomness.new_secret()), fresh=True
    )


def bits_of(
    workspace: Workspace, source: Source, mechanism: str, domain: Domain, **definition: object
) -> RandomBits:
    """Return the random bits of an attribute, keyed by its mechanism, name and domain, and by the ``definition``."""
    context: dict[str, object] = {
        "mechanism": mechanism,
        "attribute": domain.attribute.lower(),
        "domain": domain.digest,
    }
    return open_random_bits(workspace, source, context | definition)


def fresh_bits(workspace: Workspace, source: Source) -> RandomBits:
    """Return bits for one publication: publishing the same records again draws other bits.

    If records may be read twice while they are published, the bits come from a key that is not stored.
    """
    answers = aggregates_of(workspace, source)
    if not answers.rereads:
        return open_random_bits(workspace, replace(source, record_id=()), {})
    secret = answers.once("key of coins", randomness.new_secret)
    bits = randomness.KeyedBits.derive(secret, "coins of one publication")
    return RandomBits(bits, randomness.fingerprint(secret), fresh=True)


@dataclass(frozen=True)
class Drawn:
    """The perturbation of one attribute: which value 64 bits show for a true value.

    In the SQL of a subclass, ``n`` is the number of the attribute in the release. ``_code{n}`` is the position of the
    true value, ``_bits{n}`` are its random bits, and ``d{n}`` is its domain.
    """

    domain: Domain
    random_bits: RandomBits

    def tables(self) -> dict[str, Table]:
        """Return the small tables that the SQL joins to records: the domain, and other tables of the draw."""
        return {self.domain.table: self.domain.as_table()}

    def carried(self, n: int) -> Sequence[str]:
        """Return SQL for the columns of the domain that a draw needs."""
        return ()

    def keyed(self, n: int) -> str:
        """Return SQL for the key of the bits besides the record: its true value."""
        return f"_code{n}"

    def joined(self, n: int) -> str:
        """Return the join with the table that the bits are looked up in."""
        return ""

    def shown(self, n: int) -> str:
        """Return SQL for the position of the shown value; by default, compare the bits with the carried thresholds."""
        return _redrawn(n, f"_keep{n}", f"_width{n}")

    def looked_up(self, n: int) -> str:
        """Return the join with the published value of each shown position."""
        return f"JOIN {self.domain.table} AS p{n} ON p{n}.position = shown._shown{n}"


@dataclass(frozen=True)
class Perturbation(Drawn):
    """Keeps or redraws every value with the same probability."""

    keep: int
    width: int

    def shown(self, n: int) -> str:
        """Compare the bits with the two thresholds."""
        return _redrawn(n, f"{self.keep}::UBIGINT", f"{self.width}::UBIGINT")


@dataclass(frozen=True)
class PerturbationByRecord(Drawn):
    """Keeps or redraws a value with the record's own probability: ``_priv_keep{n}`` and ``_priv_width{n}``."""

    def carried(self, n: int) -> Sequence[str]:
        """Return SQL for the record's two thresholds."""
        return (f"s._priv_keep{n} AS _keep{n}", f"s._priv_width{n} AS _width{n}")


@dataclass(frozen=True)
class PerturbationByValue(Drawn):
    """Keeps or redraws each value with its own probability."""

    keep: NDArray[np.uint64]
    width: NDArray[np.uint64]

    def tables(self) -> dict[str, Table]:
        """Return the domain with the two thresholds of each value."""
        return {self.domain.table: self.domain.as_table(keep=self.keep, width=self.width)}

    def carried(self, n: int) -> Sequence[str]:
        """Return SQL for the value's two thresholds."""
        return (f"d{n}.keep AS _keep{n}", f"d{n}.width AS _width{n}")


@dataclass(frozen=True)
class BlockDraw(Drawn):
    """Replaces a value by the number of a block: with some probability one that contains it, otherwise any block."""

    blocks: Blocks
    keep: int
    width: int

    @property
    def held(self) -> str:
        """Name of the temporary table of the blocks that contain the first value."""
        return f"{self.domain.table}_blocks"

    @property
    def numbers(self) -> str:
        """Name of the temporary table of the blocks' published numbers."""
        return f"{self.domain.table}_numbers"

    def tables(self) -> dict[str, Table]:
        """Return the domain, the blocks of the first value, and the published number of each block."""
        first = {
            "number": np.arange(len(self.blocks.first), dtype=np.uint64),
            "block": np.array(self.blocks.first, dtype=np.uint32),
        }
        number = np.arange(self.blocks.count, dtype=np.uint32)
        kind = shown_type([*map(str, number)]) or "INTEGER"
        shown = Table.of({"number": number}, f"number, number::VARCHAR::{kind} AS published")
        return {**super().tables(), self.held: Table.of(first), self.numbers: shown}

    def joined(self, n: int) -> str:
        """Return the join with the block that the bits choose among those with the value, if they choose one."""
        number = (
            f"CASE WHEN {self._is_held(n)} THEN _bits{n} % {len(self.blocks.first)}::UBIGINT END"
        )
        return f"LEFT JOIN {self.held} AS b{n} ON b{n}.number = {number}"

    def shown(self, n: int) -> str:
        """Shift that block from the first value to the true one, or take the block that the bits number."""
        moved = f"(b{n}.block + _code{n} * {self.blocks.stride}::UINTEGER) % {self.blocks.count}::UINTEGER"
        return (
            f"CASE WHEN {self._is_held(n)} THEN {moved}"
            f" ELSE ((_bits{n} - {self.keep}::UBIGINT) // {self.width}::UBIGINT)::UINTEGER END"
        )

    def _is_held(self, n: int) -> str:
        return f"_bits{n} < {self.keep}::UBIGINT"

    def looked_up(self, n: int) -> str:
        """Return the join with the numbers of the blocks."""
        return f"JOIN {self.numbers} AS p{n} ON p{n}.number = shown._shown{n}"


@dataclass(frozen=True)
class Exchange(Drawn):
    """Replaces a value by any value, with the probabilities of an operator, using an alias table."""

    alias_tables: AliasTables

    @property
    def aliases(self) -> str:
        """Name of the temporary table of all values' alias tables."""
        return f"{self.domain.table}_aliases"

    def tables(self) -> dict[str, Table]:
        """Return the domain and the alias tables, which have one row for each bin of each value."""
        cells = {
            "cell": np.arange(self.alias_tables.bounds.size, dtype=np.uint32),
            "bound": self.alias_tables.bounds.ravel(),
            "alias": self.alias_tables.aliases.ravel(),
        }
        return {**super().tables(), self.aliases: Table.of(cells)}

    def joined(self, n: int) -> str:
        """Return the join with the bin that the bits fall into."""
        return f"JOIN {self.aliases} AS a{n} ON a{n}.cell = {self._cell(n)}"

    def shown(self, n: int) -> str:
        """Compare the position in the bin with the bin's threshold."""
        place = f"_bits{n} & {2**self.alias_tables.bits - 1}::UBIGINT"
        return f"CASE WHEN ({place}) < a{n}.bound THEN {self._bin(n)} ELSE a{n}.alias END"

    def _bin(self, n: int) -> str:
        return f"(_bits{n} >> {self.alias_tables.bits}::UBIGINT)::UINTEGER"

    def _cell(self, n: int) -> str:
        return f"_code{n} * {self.alias_tables.bounds.shape[1]}::UINTEGER + {self._bin(n)}"


@dataclass(frozen=True)
class Redrawn(Exchange):
    """Draws every value from the same distribution, with a single alias table."""

    def keyed(self, n: int) -> str:
        """Key the bits by the record alone: a change of its true value changes nothing."""
        return "0::UINTEGER"

    def _cell(self, n: int) -> str:
        return self._bin(n)


def _redrawn(n: int, keep: str, width: str) -> str:
    return (
        f"CASE WHEN _bits{n} < {keep} THEN _code{n}"
        f" ELSE ((_bits{n} - {keep}) // {width})::UINTEGER END"
    )


def perturb_kernel(source: Source, perturbations: Sequence[Drawn]) -> Kernel:
    """Return the kernel that perturbs records one by one, each attribute with its own bits."""
    return Kernel(
        reads=source.read_types,
        select=_published_sql(source, perturbations, place(DRAWN)),
        random_bits={
            **{f"random{n}": each.random_bits.bits for n, each in enumerate(perturbations)},
            **{
                name: bits
                for each in perturbations
                for name, bits in each.domain.random_bits.items()
            },
        },
        drawing=_drawing(source, perturbations, place(RECORDS)),
        tables={name: table for each in perturbations for name, table in each.tables().items()},
    )


def perturb_sql(source: Source, perturbations: Sequence[Drawn], records: str) -> str:
    """Return the query of the published rows of a table expression, in no particular order.

    The bits of attribute ``n`` are those of the placeholder ``random{n}``.
    """
    return _published_sql(source, perturbations, _drawing(source, perturbations, records).sql)


def _drawing(source: Source, perturbations: Sequence[Drawn], records: str) -> Drawing:
    """Return the query of the records of a table expression, with the keys of their bits."""
    function, _ = source.drawing("bits")
    domains = [each.domain for each in perturbations]
    carried = [column for n, each in enumerate(perturbations) for column in each.carried(n)]
    keyed = {f"random{n}": each.keyed(n) for n, each in enumerate(perturbations)}
    return Drawing(coded_sql(source, domains, records, carried), function, keyed)


def coded_sql(
    source: Source, domains: Sequence[Domain], records: str, carried: Sequence[str] = ()
) -> str:
    """Return the query of a table expression's records, with their ids and the positions of their true values.

    ``carried`` is SQL for further columns, of the domains d0, d1 ….
    """
    number, text = source.id_arguments
    codes = (f"d{n}.position AS _code{n}" for n in range(len(domains)))
    for domain in domains:
        records = domain.placed(source, records)
    return fragment(
        "coded",
        public="".join(
            f"s.{identifier(name)} AS {alias}, " for name, alias in _public(source).items()
        ),
        id_number=number,
        id_text=text,
        codes=", ".join([*codes, *carried]),
        source=f"{records} AS s",
        domains=" ".join(
            f"JOIN {domain.table} AS d{n} ON {domain.found(n)}" for n, domain in enumerate(domains)
        ),
    )


def _public(source: Source) -> dict[str, str]:
    """Return private aliases for public columns; a column named _bits0 would otherwise be taken for the bits."""
    return {name: f"_public{n}" for n, name in enumerate(source.public)}


def _published_sql(source: Source, perturbations: Sequence[Drawn], drawn: str) -> str:
    """Return the query of the published rows from records with their bits."""
    values = {each.domain.attribute: f"p{n}.published" for n, each in enumerate(perturbations)}
    return fragment(
        "perturb",
        bits=drawn,
        joined=" ".join(each.joined(n) for n, each in enumerate(perturbations)),
        shown=", ".join(f"{each.shown(n)} AS _shown{n}" for n, each in enumerate(perturbations)),
        published=columns_sql(source, values, "shown."),
        values=" ".join(each.looked_up(n) for n, each in enumerate(perturbations)),
    )


def columns_sql(source: Source, values: Mapping[str, str], rows: str = "") -> str:
    """Return SQL for the published columns, in the order of the source.

    ``values`` is SQL for the shown value of each sensitive attribute. Public columns are those of ``rows``, a prefix.
    """
    columns = {name: f"{rows}{alias}" for name, alias in _public(source).items()} | {**values}
    return ", ".join(
        f"{columns[name]} AS {identifier(name)}" for name in source.types if name in columns
    )

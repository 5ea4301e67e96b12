"""The values that a sensitive attribute can take, in the order of the catalog."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.byte_order import one_zero
from duckdb_priv.engine.kernel import Table
from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.engine.source import Source, key_expression, key_type
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource, how_many
from duckdb_priv.release.arguments import nested
from duckdb_priv.release.model import MANY_VALUES, SensitiveAttribute, shown_type
from duckdb_priv.sqltext.literals import texts
from duckdb_priv.sqltext.quoting import identifier, same
from duckdb_priv.sqltext.templates import section

LACKS = "SELECT DISTINCT {} lists what it has: add to the domain, or leave records out in a view"


@dataclass(frozen=True)
class Domain:
    """A domain with the counts of the source, which never leave the publisher."""

    attribute: str
    values: tuple[str | None, ...]
    """Values as text; None is the missing value, and comes last."""
    counts: tuple[int, ...]
    """Number of source records with each value."""
    provenance: str
    """Whether the domain was "given" independently of the data or taken from the "source"."""
    source_type: str
    table: str
    """Name of the temporary table with the columns position, value and published."""

    @property
    def size(self) -> int:
        """Number of values, including the missing one."""
        return len(self.values)

    @property
    def published_type(self) -> str:
        """Type of the published column: an ENUM of the domain, unless there are too many values for one."""
        return shown_type(self.values) or self.value_type

    @property
    def value_type(self) -> str:
        """Type of a value outside of the published column: VARCHAR for a text, otherwise the source's type."""
        return "VARCHAR" if _is_text(self.source_type) else self.source_type

    @property
    def catalog_type(self) -> str:
        """Type in the catalog: that of the source, but ENUM for a text column that is published as one."""
        return "ENUM" if _is_text(self.source_type) and shown_type(self.values) else self.value_type

    def as_table(self, **numbers: Any) -> Table:
        """Return that table, with further columns of numbers for each value."""
        columns = {
            "position": pa.array(range(self.size), pa.uint32()),
            "text": pa.array(self.values, pa.string()),
        }
        more = "".join(f", {name}" for name in numbers)
        return Table.of(
            columns | numbers,
            f"position, text::{key_type(self.source_type)} AS value,"
            f" text::{self.published_type} AS published{more}",
        )

    def published_at(self, position: str) -> str:
        """Return SQL for the published value at a position.

        A join would read all records of a stream into a hash table, because DuckDB does not know how many they are.
        """
        return (
            f"list_extract({texts(self.values)}::{self.published_type}[], {position}::BIGINT + 1)"
        )

    @property
    def random_bits(self) -> Mapping[str, KeyedBits | FreshBits]:
        """Random bits that are needed to find a record's value, by placeholder."""
        return {}

    def placed(self, source: Source, records: str) -> str:
        """Return a table expression of the records with the columns that ``found`` needs."""
        return records

    def found(self, n: int) -> str:
        """Return the condition that ``d{n}`` is the value of a record ``s``."""
        return same(f"d{n}.value", f"s.{key_expression(self.attribute, self.source_type)}")

    def as_attribute(
        self,
        release: str,
        form: str,
        numbers: Mapping[str, Sequence[float]],
        lists: Mapping[str, Sequence[Sequence[float]]] | None = None,
    ) -> SensitiveAttribute:
        """Return the catalog entry of the attribute, with the form and the numbers of its estimates."""
        return SensitiveAttribute(
            release, self.attribute, self.catalog_type, self.values, form, numbers, lists or {}
        )

    @property
    def digest(self) -> str:
        """Return a digest of the domain, for the context of the noise."""
        return hashlib.sha256(json.dumps(self.values).encode()).hexdigest()


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def open_domains(workspace: Workspace, source: Source, given: Any = None) -> list[Domain]:
    """Read or check the domain of every sensitive attribute.

    ``given`` is read as ``given_domains`` says; other domains are the values of the source.

    Raises InvalidSource for a value outside a given domain and for a domain of one value.
    """
    domains = given_domains(given, source)
    return [
        _open(workspace, source, attribute, number, domains.get(attribute))
        for number, attribute in enumerate(source.sensitive)
    ]


def given_domains(domain: Any, source: Source) -> dict[str, Sequence[Any]]:
    """Return the given domain of each attribute, from a list for a single attribute or a struct of lists.

    Raises InvalidParameter for a list if there are several attributes, and UnknownName for a column that is not
    sensitive.
    """
    if domain is None:
        return {}
    if isinstance(domain, Mapping):
        return nested(domain, source.sensitive, "sensitive column")
    if len(source.sensitive) == 1:
        return {source.sensitive[0]: domain}
    raise InvalidParameter(
        "domain must be a struct of lists where several columns are sensitive",
        hint="write domain := {'disease': ['a', 'b'], 'drug': ['x', 'y']}",
    )


def _open(
    workspace: Workspace, source: Source, attribute: str, number: int, given: Sequence[Any] | None
) -> Domain:
    kind = source.types[attribute]
    counted = aggregates_of(workspace, source).histogram(attribute)
    if sum(rows for _, rows in counted) != source.rows:
        raise InvalidSource(
            "the source changed while it was being published",
            hint="publish a table, not a live view",
        )
    found = dict(counted)
    if len(found) < len(counted) or any(value is not None and "\0" in value for value in found):
        raise InvalidSource(
            f"sensitive column {attribute!r} has different values with the same text, or with a NUL character",
            hint="clean them in a view, and publish the view",
        )
    values = (
        list(found) if given is None else _canonical(workspace, attribute, key_type(kind), given)
    )
    if "nan" in values and kind in ("FLOAT", "DOUBLE"):
        # In a histogram of older DuckDB versions its order is undefined, so it would be counted as another value.
        raise InvalidSource(
            f"sensitive column {attribute!r} can be nan, which is no value",
            hint="make it NULL in a view, and publish the view",
        )
    known = set(values)
    if outside := [value for value in found if value not in known]:
        raise InvalidSource(
            f"sensitive column {attribute!r} has {how_many(len(outside), 'value')} that the given domain lacks",
            hint=LACKS.format(identifier(attribute)),
        )
    if len(values) < 2:
        raise InvalidSource(
            f"the domain of {attribute!r} has {len(values)} value, and needs at least 2",
            hint="give a domain := [...] with every value the column could have had, or exclude the column",
        )
    return Domain(
        attribute=attribute,
        values=tuple(values),
        counts=tuple(found.get(value, 0) for value in values),
        provenance="source" if given is None else "given",
        source_type=kind,
        table=f"_priv_domain_{number}",
    )


def _canonical(
    workspace: Workspace, attribute: str, kind: str, given: Sequence[Any]
) -> list[str | None]:
    """Return given values in the spelling and order of the column's type, the missing value last."""
    texts = [
        str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
        for value in given
    ]
    value = one_zero(f"TRY_CAST(text AS {kind})", kind)
    read = workspace.rows(
        section("domains", "in_order", value=value, kind=kind),
        [pa.array(texts, pa.string()).to_pylist() or [None]],
    )
    for text, value in read:
        if text is not None and value is None:
            raise InvalidParameter(
                f"the given domain of {attribute!r} has {text!r}, which is no {kind}",
                hint="write the values as the column has them",
            )
    values = [value for _, value in read] if given else []
    if len(set(values)) < len(values):
        raise InvalidParameter(
            f"the given domain of {attribute!r} names a value twice", hint="name each value once"
        )
    return values


def warn_of_domain(domain: Domain, source: Source) -> list[str]:
    """Return a warning if a sensitive column looks like an identifier, or has too many values for estimates."""
    name, size = repr(domain.attribute), domain.size
    found = sum(count > 0 for count in domain.counts)
    if found == source.rows > 2:
        return [f"sensitive column {name} differs in every row: it is an identifier; exclude it"]
    if size > MANY_VALUES:
        return [
            f"sensitive column {name} has {size} values: estimates will be noise; group its values first"
        ]
    return []

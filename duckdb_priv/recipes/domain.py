"""The values that a sensitive attribute can take, in the order of the catalog."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.literals import enum
from duckdb_priv.procedures import Call
from duckdb_priv.source import Source
from duckdb_priv.sqlfiles import identifier

MANY_VALUES = 10_000
"""Domains above this size deserve a warning."""


@dataclass(frozen=True)
class Domain:
    """A domain with the counts of the source, which never leave the publisher."""

    attribute: str
    values: tuple[str | None, ...]
    """As text; None is the missing value, and comes last."""
    counts: tuple[int, ...]
    """How many records of the source have each value."""
    provenance: str
    """Whether the domain was "given" independently of the data or taken from the "source"."""
    source_type: str
    table: str
    """Temporary table of this connection with position, value and published."""

    @property
    def size(self) -> int:
        """How many values there are, the missing one included."""
        return len(self.values)

    @property
    def published_type(self) -> str:
        """Type of the published column: texts become an ENUM, which is several times faster to query.

        Not so where there are many: an ENUM takes DuckDB ten seconds to declare with a million of them.
        """
        if not _is_text(self.source_type):
            return self.source_type
        if self.size > MANY_VALUES:
            return "VARCHAR"
        return enum(self.values)

    @property
    def catalog_type(self) -> str:
        """Type as the catalog says it; the values of an ENUM are listed with the coefficients."""
        kind = self.published_type
        return "ENUM" if kind.startswith("ENUM") else kind

    @property
    def digest(self) -> str:
        """Tell domains apart in the context of the coins."""
        return hashlib.sha256(json.dumps(self.values).encode()).hexdigest()


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")


def key_type(kind: str) -> str:
    """Return the type that values of a column are looked up as: an ENUM as text, others as they are."""
    return "VARCHAR" if kind.startswith("ENUM") else kind


def key_expression(attribute: str, kind: str) -> str:
    """Write the expression that is looked up in the domain: an ENUM as text, others as they are."""
    return f"{identifier(attribute)}::VARCHAR" if kind.startswith("ENUM") else identifier(attribute)


def open_domains(
    call: Call, source: Source, given: Mapping[str, list[Any]] | None = None
) -> list[Domain]:
    """Read or check the domain of every sensitive attribute, and lay it out as a temporary table.

    ``given`` are domains that the mechanism brings along, by attribute; else the call may give some.

    Raises InvalidSource for a value outside a given domain and for a domain of one value.
    """
    if given is None:
        given = _given_domains(call.arguments, source)
    return [
        _open(call, source, attribute, number, given.get(attribute))
        for number, attribute in enumerate(source.sensitive)
    ]


def _given_domains(arguments: Mapping[str, Any], source: Source) -> dict[str, list[Any]]:
    domain = arguments.get("domain")
    if domain is None:
        return {}
    if isinstance(domain, list) and len(source.sensitive) == 1:
        return {source.sensitive[0]: domain}
    spelling = {name.lower(): name for name in source.sensitive}
    if isinstance(domain, dict) and all(
        name.lower() in spelling and isinstance(values, list) for name, values in domain.items()
    ):
        return {spelling[name.lower()]: values for name, values in domain.items()}
    raise InvalidParameter(
        "domain must be a list of values, or a struct of such lists with the sensitive columns as names",
        hint="write domain := ['a', 'b', NULL] or domain := {'disease': ['a', 'b'], 'drug': ['x', 'y']}",
    )


def _open(
    call: Call, source: Source, attribute: str, number: int, given: list[Any] | None
) -> Domain:
    kind = source.types[attribute]
    column = key_expression(attribute, kind)
    counted = call.rows(
        f"SELECT value::VARCHAR, rows FROM (SELECT {column} AS value, count(*) AS rows"
        f" FROM {source.table} GROUP BY ALL) ORDER BY value NULLS LAST"
    )
    if sum(rows for _, rows in counted) != source.rows:
        raise InvalidSource(
            "the source changed while it was being published",
            hint="publish a table, not a live view",
        )
    found = dict(counted)
    if len(found) < len(counted) or any(value is not None and "\0" in value for value in found):
        raise InvalidSource(
            f"sensitive column {attribute!r} has values that differ and read alike, or hold a NUL",
            hint="clean them in a view, and publish the view",
        )
    values = list(found) if given is None else _canonical(call, attribute, key_type(kind), given)
    if "nan" in values and kind in ("FLOAT", "DOUBLE"):
        # Its order is undefined where older DuckDB makes a histogram: it would be counted as another value.
        raise InvalidSource(
            f"sensitive column {attribute!r} can be nan, which is no value",
            hint="make it NULL in a view, and publish the view",
        )
    known = set(values)
    if outside := [value for value in found if value not in known]:
        shown = "NULL" if outside[0] is None else repr(outside[0])
        raise InvalidSource(
            f"sensitive column {attribute!r} has the value {shown}, which the given domain lacks"
            + (f", and {len(outside) - 1} more" if len(outside) > 1 else ""),
            hint="add it to the domain, or leave its records out in a view",
        )
    if len(values) < 2:
        raise InvalidSource(
            f"the domain of {attribute!r} has {len(values)} value, and needs at least 2",
            hint="give a domain := [...] with every value the column could have had, or exclude the column",
        )
    domain = Domain(
        attribute=attribute,
        values=tuple(values),
        counts=tuple(found.get(value, 0) for value in values),
        provenance="source" if given is None else "given",
        source_type=kind,
        table=f"temp._priv_domain_{number}",
    )
    texts = pa.table(
        {
            "position": pa.array(range(len(values)), pa.uint32()),
            "text": pa.array(values, pa.string()),
        }
    )
    call.cursor.register("_priv_texts", texts)
    call.cursor.execute(
        f"CREATE TEMP TABLE {domain.table.split('.')[1]} AS SELECT position, text::{key_type(kind)} AS value,"
        f" text::{domain.published_type} AS published FROM _priv_texts"
    )
    call.cursor.unregister("_priv_texts")
    return domain


def _canonical(call: Call, attribute: str, kind: str, given: list[Any]) -> list[str | None]:
    """Write given values as the column's type writes them, in its order, the missing value last."""
    texts = [
        str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
        for value in given
    ]
    read = call.rows(
        f"SELECT text, TRY_CAST(text AS {kind})::VARCHAR AS value FROM (SELECT unnest(?) AS text)"
        f" ORDER BY TRY_CAST(text AS {kind}) NULLS LAST",
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

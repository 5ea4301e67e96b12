"""The state of one publication: its arguments, the results of its ``steps``, and its catalog rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from duckdb_priv.engine.kernel import Kernel
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger.entries import Charged, Published
from duckdb_priv.ledger.marks import Marked
from duckdb_priv.ledger.rules import Charge
from duckdb_priv.methods.register import Method
from duckdb_priv.publisher.absent import Absent
from duckdb_priv.publisher.check.finding import Finding
from duckdb_priv.publisher.labels import CodeBook
from duckdb_priv.publisher.versions import Succession
from duckdb_priv.release.catalog import Labels, Version, now
from duckdb_priv.release.model import (
    Guarantee,
    SensitiveAttribute,
    published_column,
    renamed_columns,
    to_json,
)
from duckdb_priv.release.request import Request
from duckdb_priv.version import __version__

NEXT = "_priv_next"
"""The table's name until the previous version is dropped."""


@dataclass
class Publication:
    """One publication, inside the transaction of a workspace."""

    workspace: Workspace
    method: Method
    request: Request
    arguments: Any
    """The arguments of the method."""
    given: Mapping[str, Any]
    """The arguments stored for later versions."""
    declared_as: str
    """The procedure that publishes later versions: the method's, or another one."""
    follows: Succession | None = None
    """The version that this one follows; None for a first version."""
    kind: str = "TABLE"
    """TABLE, or VIEW if the rows are in other files."""
    time: dt.datetime = field(default_factory=now)

    former: str | None = field(init=False)
    """The published name of the release's previous version; None if there is none."""
    whole: Source = field(init=False)
    """All records."""
    source: Source = field(init=False)
    """The records to publish: at most ``max_rows`` of each person."""
    book: CodeBook = field(init=False)
    """The publisher's labels of codes."""
    descriptions: Mapping[str, str] = field(init=False)
    """By column: its description."""
    marked: Marked | None = field(init=False)
    plan: Plan = field(init=False)
    published: Published = field(init=False)
    """Its description in the ledger."""
    groups: Mapping[str, Charge] = field(init=False)
    """By attribute published in groups: its charge."""
    exposed: Mapping[str, str] = field(init=False)
    """Columns that have noise in one release and none in another, each with the reason."""
    findings: Sequence[Finding] = field(init=False)
    promised: Sequence[Guarantee] = ()
    """The guarantees for people."""
    absent: Absent | None = None
    """The statement about the records left out."""
    warnings: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()
    types: Mapping[str, str] = field(init=False)
    """By published column: its type."""
    rows_published: int = field(init=False)
    labels: Labels = field(init=False)
    version: Version = field(init=False)
    charged: Sequence[Charged] = field(init=False)
    receipt: Mapping[str, Any] = field(init=False)

    @property
    def release(self) -> str:
        """The name of the release."""
        return self.request.release

    @property
    def remembered(self) -> bool:
        """Whether the published value of each record of the previous version is known."""
        return self.follows is not None and self.follows.remembered

    @property
    def extends(self) -> bool:
        """Whether rows of the previous version stay."""
        return self.arguments.extends or self.remembered

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes the rows, under their published names."""
        return self.plan.kernel.renamed(renamed_columns(self.plan.columns))

    @property
    def rows(self) -> str:
        """The table to write rows to, next to that of the previous version."""
        return self.workspace.table(NEXT)


def catalog_rows(p: Publication, types: Mapping[str, str]) -> dict[str, Any]:
    """Return the catalog rows of a release, by catalog table; ``types`` are the column types to record."""
    release, request, plan, which = p.release, p.request, p.plan, p.version
    sensitive = {attribute.name: attribute for attribute in plan.attributes}
    return {
        "release": [
            (
                release,
                plan.mechanism,
                to_json(plan.parameters),
                to_json(plan.provenance),
                p.rows_published,
                p.time,
                __version__,
                request.title,
                request.description,
                request.contact,
                request.licence,
                which.number,
                which.previous_at,
                which.previous_rows,
                which.rows_kept,
                which.rows_moved,
                [asdict(each) for each in which.earlier],
            )
        ],
        "attribute": [
            (
                release,
                name,
                role,
                types[published_column(name, role)],
                sensitive[name].size if name in sensitive else None,
                sensitive[name].form if name in sensitive else None,
                published_column(name, role),
                _described(sensitive.get(name)),
                p.descriptions.get(name),
                [{"value": value, "label": label} for value, label in p.labels.get(name, ())]
                or None,
            )
            for name, role in plan.columns.items()
        ],
        "coefficient": [_coefficients(release, attribute) for attribute in plan.attributes],
        "guarantee": [
            (release, of.attribute, of.name, to_json(of.parameters), of.value, of.statement)
            for of in plan.guarantees
        ],
        "warning": [(release, *each) for each in enumerate(p.warnings, start=1)],
    }


def _described(attribute: SensitiveAttribute | None) -> dict[str, Any] | None:
    """Return the catalog's description of an attribute's blocks; None without blocks."""
    if attribute is None or attribute.blocks is None:
        return None
    of = attribute.blocks
    return {
        "number": of.count,
        "stride": of.stride,
        "first": list(of.first),
        "type": attribute.type,
    }


def _coefficients(release: str, attribute: SensitiveAttribute) -> pa.Table:
    """Return the catalog rows with the coefficients of one attribute."""
    return pa.table(
        {
            "release": pa.array([release] * attribute.size),
            "attribute": pa.array([attribute.name] * attribute.size),
            "position": pa.array(range(attribute.size), pa.int32()),
            "value": pa.array(attribute.values, pa.string()),
            **{name: pa.array(of, pa.float64()) for name, of in attribute.numbers.items()},
            **{
                name: pa.array(list(of), pa.list_(pa.float64()))
                for name, of in attribute.lists.items()
            },
        }
    )

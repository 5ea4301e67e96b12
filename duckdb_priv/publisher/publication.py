"""One publication: what is asked, what each of its ``steps`` finds, and its rows in the catalog."""

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
from duckdb_priv.publisher.comments import SCHEMA
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
from duckdb_priv.sqltext.quoting import identifier
from duckdb_priv.version import __version__

NEXT = "_priv_next"
"""What the table is called until the former one of its name is dropped."""


@dataclass
class Publication:
    """One publication, inside the transaction of a workspace."""

    workspace: Workspace
    method: Method
    request: Request
    arguments: Any
    """Those of the method."""
    given: Mapping[str, Any]
    """What is kept for the versions to come."""
    declared_as: str
    """The procedure that publishes them: the method's, or another one."""
    follows: Succession | None = None
    """Where it is the next version of a release."""
    kind: str = "TABLE"
    """What the rows are in the database: VIEW where they are files elsewhere."""
    time: dt.datetime = field(default_factory=now)

    whole: Source = field(init=False)
    """All records."""
    source: Source = field(init=False)
    """Those that enter: of each person at most ``max_rows``."""
    book: CodeBook = field(init=False)
    """What codes mean, as the publisher says."""
    descriptions: Mapping[str, str] = field(init=False)
    """What is said of columns."""
    marked: Marked | None = field(init=False)
    plan: Plan = field(init=False)
    published: Published = field(init=False)
    """What the ledger says of it."""
    groups: Mapping[str, Charge] = field(init=False)
    """By attribute: what a publication in groups adds, where that was decided."""
    exposed: Mapping[str, str] = field(init=False)
    """The columns that have noise in one release and none in another, with the reason."""
    findings: Sequence[Finding] = field(init=False)
    promised: Sequence[Guarantee] = ()
    """What people are promised."""
    absent: Absent | None = None
    """What is said of records that are left out."""
    warnings: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()
    types: Mapping[str, str] = field(init=False)
    """Those of the published columns."""
    rows_published: int = field(init=False)
    labels: Labels = field(init=False)
    version: Version = field(init=False)
    charged: Sequence[Charged] = field(init=False)
    receipt: Mapping[str, Any] = field(init=False)

    @property
    def release(self) -> str:
        """The name of what is published."""
        return self.request.release

    @property
    def remembered(self) -> bool:
        """Whether it is known what each record of the version before showed."""
        return self.follows is not None and self.follows.remembered

    @property
    def extends(self) -> bool:
        """Whether rows of the version before stay."""
        return self.arguments.extends or self.remembered

    @property
    def kernel(self) -> Kernel:
        """What gives the rows, under the names that are published."""
        return self.plan.kernel.renamed(renamed_columns(self.plan.columns))

    @property
    def rows(self) -> str:
        """Where the rows are written, beside those of the version before."""
        return self.named(NEXT)

    def named(self, table: str) -> str:
        """Quote a table among the releases."""
        return f"{identifier(self.workspace.database)}.{SCHEMA}.{identifier(table)}"


def catalog_rows(p: Publication, types: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows of a release by the tables of the catalog; ``types`` are what it says of the columns."""
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
    """Describe the blocks that records report as the catalog does."""
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
    """Return the coefficients of one attribute as the catalog has them."""
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

"""The rows of a publication in the catalog: its release, attributes, coefficients and guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from duckdb_priv.publisher.publication import Publication
from duckdb_priv.release.model import SensitiveAttribute, published_column, to_json
from duckdb_priv.version import __version__


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
    """Lay the coefficients of one attribute out as the catalog has them."""
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

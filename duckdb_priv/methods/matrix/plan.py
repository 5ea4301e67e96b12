"""Plan a publication with a column-stochastic matrix (PRAM): each value is exchanged with given probabilities.

Source: Gouweleeuw, Kooiman, Willenborg, de Wolf, "Post randomisation for statistical disclosure
control" (1998).
"""

from __future__ import annotations

import math

import numpy as np

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source, key_type
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.alias import as_drawn
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.operator import amplification, check_operator
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.local_privacy import local_guarantees
from duckdb_priv.methods.common.perturbed import Perturbed, exchanged, plan_of
from duckdb_priv.methods.common.tables import as_domain_value, named_tables, read_columns, shown
from duckdb_priv.methods.matrix.arguments import MatrixArguments
from duckdb_priv.release.model import Guarantee

MECHANISM = "matrix"
MAX_VALUES = 100
"""Largest domain of a matrix, because the analyst's macros contain all its m * m weights."""

MatrixCells = dict[tuple[str | None, str | None], float]
"""Probabilities by (original, published)."""


def plan(workspace: Workspace, source: Source, release: str, arguments: MatrixArguments) -> Plan:
    """Plan a release whose values are exchanged with the probabilities of a matrix."""
    tables = named_tables(arguments.matrix, source, "matrix")
    cells = {
        name: _read(workspace, source, table, source.types[name]) for name, table in tables.items()
    }
    domains = open_domains(
        workspace,
        source,
        {name: list({original for original, _ in of}) for name, of in cells.items()},
    )
    operators = [_operator(cells[domain.attribute], domain) for domain in domains]
    perturbed = [
        _perturbed(workspace, source, release, domain, operator)
        for domain, operator in zip(domains, operators, strict=True)
    ]
    return plan_of(workspace, source, MECHANISM, {}, perturbed)


def _read(workspace: Workspace, source: Source, table: str, kind: str) -> MatrixCells:
    """Read a table with a matrix; raises InvalidParameter unless every pair of its values has one probability."""
    of_type = key_type(kind)
    rows = read_columns(
        workspace,
        source,
        "matrix",
        table,
        {
            side: f"{side}::VARCHAR, {as_domain_value(side, of_type)}"
            for side in ("original", "published")
        }
        | {"probability": "probability::DOUBLE"},
    )
    cells: MatrixCells = {}
    for text, original, other_text, published, probability in rows:
        for written, value in ((text, original), (other_text, published)):
            if written is not None and value is None:
                raise InvalidParameter(
                    f"matrix {table!r} has the value {written!r}, which is no {of_type}",
                    hint="write the values as the sensitive column has them",
                )
        pair = f"original {shown(original)} and published {shown(published)}"
        if (original, published) in cells or probability is None:
            what = "no probability" if probability is None else "two probabilities"
            raise InvalidParameter(
                f"matrix {table!r} has {what} for {pair}", hint="give exactly one for every pair"
            )
        cells[original, published] = probability
    originals = {original for original, _ in cells}
    values = originals | {published for _, published in cells}
    if len(values) > MAX_VALUES:
        raise InvalidParameter(
            f"matrix {table!r} has {len(values)} values, and at most {MAX_VALUES} are allowed",
            hint="group values; or use publish_fine_grain, which takes thousands",
        )
    for original in values:
        for published in values:
            if (original, published) not in cells:
                raise InvalidParameter(
                    f"matrix {table!r} is not square: it lacks the probability that original"
                    f" {shown(original)} is published as {shown(published)}",
                    hint="give one for every pair of its values, 0 included",
                )
    return cells


def _operator(cells: MatrixCells, domain: Domain) -> Matrix:
    """Return the matrix in the order of the domain, rounded to 64 bits."""
    values = domain.values
    given = np.array([[cells[original, published] for original in values] for published in values])
    return as_drawn(check_operator(given, values))


def _perturbed(
    workspace: Workspace, source: Source, release: str, domain: Domain, operator: Matrix
) -> Perturbed:
    attribute, ratio = domain.attribute, amplification(operator)
    bounded = math.isfinite(ratio)
    guarantees = [
        Guarantee(
            "no_bound",
            f"Some noisy value of {attribute} excludes some true value with certainty: no factor limits what it"
            " reveals.",
            attribute=attribute,
        )
    ]
    if bounded:
        guarantees = local_guarantees(attribute, ratio, {"domain_size": domain.size})
    return exchanged(
        workspace,
        source,
        release,
        MECHANISM,
        domain,
        operator,
        guarantees,
        math.log(ratio) if bounded else None,
    )

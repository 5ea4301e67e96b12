"""The frequencies from which retentions are computed: public ones, or noisy frequencies of the table."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.source import Source, key_type
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.reference_frequencies import reference_frequencies
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.tables import as_domain_value, named_tables, read_columns, shown
from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments
from duckdb_priv.release.model import to_json

FREQUENCY_EPSILON = 0.1
"""Default epsilon of the noisy frequencies for a tolerance: three per cent of a usual epsilon."""


@dataclass(frozen=True)
class Reference:
    """Frequencies that may be published, one for each value of the domain."""

    frequencies: Vector
    epsilon: float = 0.0
    """The epsilon of the frequencies; 0 if they do not depend on the table."""
    noise_id: str = ""
    """Fingerprint of the noise in the frequencies."""


def find_reference(
    workspace: Workspace, source: Source, domain: Domain, arguments: FineGrainArguments
) -> Reference:
    """Return the given frequencies, or noisy frequencies of the table, or equal ones if none are needed."""
    if arguments.frequencies is not None and arguments.frequency_epsilon is not None:
        raise InvalidParameter(
            "give either public frequencies, or a frequency_epsilon to count them with, not both",
            hint="public frequencies cost nothing: leave frequency_epsilon out",
        )
    if arguments.frequencies is not None:
        tables = named_tables(arguments.frequencies, source, "frequencies")
        return Reference(_read(workspace, source, domain, tables[domain.attribute]))
    epsilon = arguments.frequency_epsilon
    if epsilon is None and arguments.tolerance is None:
        return Reference(np.ones(domain.size))
    epsilon = FREQUENCY_EPSILON if epsilon is None else epsilon
    secret = workspace.secret()
    # The noise depends on the counts, because with the same noise two tables would show their difference.
    context = to_json(
        {
            "purpose": "frequencies",
            "attribute": domain.attribute.lower(),
            "domain": domain.digest,
            "counts": domain.counts,
            "epsilon": epsilon,
        }
    )
    words, streams = randomness.KeyedWords.derive(secret, context), itertools.count()
    return Reference(
        reference_frequencies(
            np.array(domain.counts), epsilon, lambda count: words(next(streams), count)
        ),
        epsilon,
        randomness.fingerprint(secret, context),
    )


def _read(workspace: Workspace, source: Source, domain: Domain, table: str) -> Vector:
    """Read a table of frequencies; raises InvalidParameter unless it has one for each value of the domain."""
    rows = read_columns(
        workspace,
        source,
        "frequencies",
        table,
        {
            "value": as_domain_value("value", key_type(domain.source_type)),
            "frequency": "TRY_CAST(frequency AS DOUBLE)",
        },
    )
    found = dict(rows)
    if len(found) < len(rows):
        raise InvalidParameter(
            f"frequencies {table!r} names a value twice, or one that column {domain.attribute!r} cannot have",
            hint="give each value of the column one row, the missing value too",
        )
    for value in domain.values:
        frequency = found.get(value)
        if frequency is None or not 0 < frequency < np.inf:
            raise InvalidParameter(
                f"frequencies {table!r} has no number above 0 for {shown(value)}, which column"
                f" {domain.attribute!r} has",
                hint="give each value of the column one row, the missing value too; a small number where it is rare",
            )
    return np.array([found[value] for value in domain.values])

"""Shared parts of all advice: the requirements, the table, the guarantee in words, and the statement."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, open_source, parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.evaluation.workload import TableArguments
from duckdb_priv.mechanism.composition import EpsilonDelta, of_group
from duckdb_priv.methods.common.options import Promised
from duckdb_priv.methods.common.parameters import RHO1, RHO2
from duckdb_priv.methods.register import Method
from duckdb_priv.release.arguments import (
    ANYTHING,
    COLUMNS,
    FLAG,
    NUMBER,
    TABLE,
    TABLES,
    Alternatives,
    Arguments,
    argument,
    whole,
)
from duckdb_priv.release.promise import factor, of_person, weak
from duckdb_priv.sqltext.calls import call

PRIOR = 0.1
"""The prior for which the posterior is shown by default."""


@dataclass(frozen=True, kw_only=True)
class AdviceArguments(Arguments):
    """The requirements, and the options of the comparison."""

    rho1: float | None = argument(NUMBER, RHO1, "0.1", default=None)
    rho2: float | None = argument(NUMBER, RHO2, "0.5", default=None)
    epsilon: float | None = argument(
        NUMBER, "the largest epsilon of differential privacy", "1.0", default=None
    )
    delta: float | None = argument(NUMBER, "the largest delta beside it", "1e-6", default=None)
    max_error: float | None = argument(
        NUMBER, "the largest mean relative error", "0.2", default=None
    )
    workload: str | None = argument(TABLE, "the table of questions", "'workload'", default=None)
    questions: Any = argument(
        TABLES,
        "'ranges', 'prefixes', 'mean', 'values', or a table (low, high, weight)",
        "'ranges'",
        default=None,
    )
    bins: Any = argument(
        ANYTHING,
        "the edges of the bins, or how many bins of equal width there are",
        "[0, 20, 40, 65, 100]",
        default=None,
    )
    low: Any = argument(ANYTHING, "the lower edge of the first bin", "0", default=None)
    high: Any = argument(ANYTHING, "the upper edge of the last bin", "100", default=None)
    clip: bool = argument(
        FLAG, "whether what is outside of all bins goes to the outer ones", "true", default=False
    )
    public: tuple[str, ...] | None = argument(
        COLUMNS, "the columns that are published as they are", "['age', 'gender']", default=None
    )
    person: tuple[str, ...] = argument(
        COLUMNS, "the column that tells whose record it is", "'patient_nbr'", default=()
    )
    max_rows: int | None = argument(
        whole(1), "the most records of one person that are published", "3", default=None
    )

    alternatives: ClassVar = (
        Alternatives("", ((), ("rho1", "rho2"))),
        Alternatives("", ((), ("questions", "bins"))),
    )


def opened(workspace: Workspace, table: TableArguments, arguments: AdviceArguments) -> Source:
    """Open the table with the records that would be published, and the columns that queries may use."""
    if arguments.max_rows is not None and not (arguments.person and table.record_id):
        raise InvalidParameter(
            "max_rows selects among the records of a person by their ids, so it needs person and record_id",
            hint="write person := 'patient_nbr', record_id := 'visit_id', max_rows := 3",
        )
    roles = table.roles
    hidden = {name.lower(): name for name in (*roles.exclude, *arguments.person)}
    source = open_source(
        workspace,
        table.source,
        replace(roles, exclude=tuple(hidden.values()), public=arguments.public),
    )
    spelling = {name.lower(): name for name in source.types}
    ids, person = (
        tuple(spelling.get(name.lower(), name) for name in names)
        for names in (table.record_id, arguments.person)
    )
    for name in person:
        if name not in source.types:
            raise UnknownName.among(f"column of {source.name!r}", name, source.types)
    limited = count_persons(
        workspace, replace(source, record_id=ids, person=person), arguments.max_rows
    )
    return replace(limited, record_id=(), person=())


def promised(option: Promised, prior: float, method: Method, source: Source) -> str:
    """Write an option's guarantees: its own statements, and the guarantees for one value and for a person."""
    words = list(option.promises)
    gamma = option.amplification
    if math.isfinite(gamma):
        posterior = prior * gamma / (1 + prior * (gamma - 1))
        words.append(
            f"From one noisy value alone: odds change by a factor of {factor(math.log(gamma))} (epsilon ="
            f" {math.log(gamma):.4g}): a prior of {prior:.3g} becomes a posterior of at most {posterior:.3g}."
            + weak(math.log(gamma))
        )
    columns, records = len(source.sensitive), source.rows_of_person
    if method.sensitive and option.epsilon is not None and (columns > 1 or records is not None):
        # If a method's epsilon is for all columns together, it does not add up over the columns.
        times = (1 if method.jointly else columns) * (records or 1)
        of_record = EpsilonDelta(
            option.epsilon * times / (records or 1),
            min(1.0, (option.delta or 0.0) * times / (records or 1)),
        )
        total = of_group(of_record, records or 1)
        words.append(
            of_person(total.epsilon, total.delta, records or 1, columns, known=records is not None)
        )
    return " ".join(words)


def statement(
    table: TableArguments,
    source: Source,
    given: AdviceArguments,
    method: Method,
    option: Promised,
) -> str:
    """Write the statement that publishes with this option."""
    names = source.sensitive
    sensitive = {"sensitive": names[0] if len(names) == 1 else names} if method.sensitive else {}
    roles = {
        "record_id": table.record_id,
        "exclude": table.exclude,
        "public": given.public,
        "person": given.person,
    }
    limit = {} if given.max_rows is None else {"max_rows": given.max_rows}
    return call(
        f"publish_{method.name}",
        [table.source, parse_name(source.name)[-1].replace(".", "_") + "_public"],
        {
            **sensitive,
            **option.parameters,
            **{role: columns for role, columns in roles.items() if columns},
            **limit,
        },
    )

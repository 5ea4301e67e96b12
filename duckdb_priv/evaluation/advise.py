"""Which mechanism, with which parameters: what each promises, and the error to expect, without publishing anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.source import Source, key_expression, open_source, parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.evaluation.answers import count, open_workload
from duckdb_priv.evaluation.counted_groups import generalized_groups, micro_groups
from duckdb_priv.evaluation.workload import Draw, DrawArguments, TableArguments, draw
from duckdb_priv.mechanism.uniform import amplification_gamma
from duckdb_priv.methods.common.options import Demand, Option, Question
from duckdb_priv.methods.common.parameters import RHO1, RHO2
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.release.arguments import (
    NUMBER,
    TABLE,
    Alternatives,
    Arguments,
    argument,
    read,
)
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.quoting import literal

PRIOR = 0.1
"""The prior whose posterior is told where no other is asked about."""


@dataclass(frozen=True, kw_only=True)
class AdviceArguments(Arguments):
    """What is required, and what is tried."""

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

    alternatives: ClassVar = (Alternatives("", ((), ("rho1", "rho2"))),)


def advise(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay the options out, those that meet the requirement first, the most accurate at the top."""
    advised = {name: method.grid for name, method in METHODS.items() if method.grid is not None}
    table, wish, arguments, *grids = read(
        given, TableArguments, DrawArguments, AdviceArguments, *advised.values(), of="advise"
    )
    source = open_source(workspace, table.source, table.roles)
    if len(source.sensitive) > 1:
        raise InvalidParameter(
            f"advice is for one sensitive column, got {len(source.sensitive)}",
            hint="ask for each of them; their epsilons add up",
        )
    required = _demand(arguments)
    workspace.stage("counting what is asked")
    question = _question(workspace, source, wish, arguments, required)
    rows = []
    for number, (name, grid) in enumerate(zip(advised, grids, strict=True), start=1):
        workspace.stage(f"predicting errors: {name}, {number} of {len(advised)}")
        rows += [
            _row(table, source, METHODS[name], option, required)
            for option in METHODS[name].options(question, grid)
        ]
    return sorted(rows, key=lambda row: (not row["meets"], row["mean_relative_error"]))


def _demand(arguments: AdviceArguments) -> Demand:
    limits = None
    if arguments.rho1 is not None and arguments.rho2 is not None:
        limits = (arguments.rho1, arguments.rho2)
        amplification_gamma(*limits)
    given: dict[str, float] = {
        name: value
        for name in ("epsilon", "delta", "max_error")
        if (value := getattr(arguments, name)) is not None
    }
    for name, value in given.items():
        if not 0 < value < math.inf:
            raise InvalidParameter(f"{name} must be a positive number, got {value!r}")
    if "delta" in given and "epsilon" not in given:
        raise InvalidParameter(
            "delta is given without epsilon", hint="write epsilon := 1.0, delta := 1e-6"
        )
    return Demand(limits, given.get("epsilon"), given.get("delta", 0.0), given.get("max_error"))


def _question(
    workspace: Workspace,
    source: Source,
    wish: DrawArguments,
    arguments: AdviceArguments,
    required: Demand,
) -> Question:
    """Count what the workload counts."""
    if arguments.workload is not None:
        open_workload(workspace, arguments.workload)
    else:
        draw(workspace.cursor, source, Draw.of(wish, source.rows))
    count(workspace.cursor, source)
    column = key_expression(source.sensitive[0], source.types[source.sensitive[0]])
    frequencies = workspace.rows(
        f"SELECT {column}::VARCHAR, count(*) FROM {source.table} GROUP BY ALL ORDER BY ALL"
    )
    place = {value: n for n, (value, _) in enumerate(frequencies)}
    workspace.cursor.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_numbers AS"
        " SELECT query, row_number() OVER (ORDER BY query) - 1 AS number FROM _priv_counts WHERE true_count > 0"
    )
    asked = workspace.rows(
        "SELECT number, any_value(asked) FROM _priv_histograms JOIN _priv_numbers USING (query) GROUP BY ALL ORDER BY 1"
    )
    if not asked:
        raise InvalidParameter(
            "every query of the workload counts nobody", hint="a relative error needs a count"
        )
    workspace.cursor.register(
        "_priv_places",
        pa.table({"value": pa.array(list(place), pa.string()), "place": pa.array(place.values())}),
    )
    counted = workspace.cursor.execute(
        "SELECT number, place, h.records FROM _priv_histograms AS h JOIN _priv_numbers USING (query)"
        " JOIN _priv_places AS p ON p.value IS NOT DISTINCT FROM h.value"
    ).fetchnumpy()
    workspace.cursor.unregister("_priv_places")
    histograms = np.zeros((len(place), len(asked)))
    histograms[counted["place"], counted["number"]] = counted["records"]
    return Question(
        attribute=source.sensitive[0],
        frequencies=np.array([count for _, count in frequencies], dtype=np.float64),
        histograms=histograms,
        positions=np.array([place[value] for _, value in asked], dtype=np.intp),
        micro_groups=partial(micro_groups, workspace, source),
        generalized=partial(generalized_groups, workspace, source),
        required=required,
    )


def _row(
    table: TableArguments, source: Source, method: Method, option: Option, required: Demand
) -> dict[str, Any]:
    prior = (required.limits or (PRIOR,))[0]
    return {
        "mechanism": method.name,
        "parameters": to_json(option.parameters),
        "guarantee": _guarantee(option, prior),
        "epsilon": option.epsilon,
        "delta": option.delta,
        "mean_relative_error": option.mean_relative_error,
        "median_relative_error": option.median_relative_error,
        "suppressed": option.suppressed,
        "basis": option.basis,
        "meets": _meets(option, required),
        "statement": _statement(table, source, method, option),
    }


def _meets(option: Option, required: Demand) -> bool:
    """Say whether an option satisfies everything that is asked; a limit that it says nothing of is not met."""
    if required.limits is not None and not option.amplification <= amplification_gamma(
        *required.limits
    ):
        return False
    if required.epsilon is not None and (
        option.epsilon is None
        or option.epsilon > required.epsilon
        or (option.delta or 0.0) > required.delta
    ):
        return False
    return required.max_error is None or option.mean_relative_error <= required.max_error


def _guarantee(option: Option, prior: float) -> str:
    """Say what an option promises: in its own words, and of the posterior that it allows."""
    words = list(option.promises)
    gamma = option.amplification
    if math.isfinite(gamma):
        posterior = prior * gamma / (1 + prior * (gamma - 1))
        words.append(
            f"A published value changes odds by a factor of at most {gamma:.4g}"
            f" (epsilon = {math.log(gamma):.4g}): a prior of {prior:.3g} becomes a posterior of at most"
            f" {posterior:.3g}."
        )
    return " ".join(words)


def _statement(table: TableArguments, source: Source, method: Method, option: Option) -> str:
    """Write the statement that publishes with this option."""
    sensitive = {"sensitive": source.sensitive[0]} if method.sensitive else {}
    arguments = [
        literal(table.source),
        literal(parse_name(source.name)[-1].replace(".", "_") + "_public"),
        *(
            f"{name} := {_written(value)}"
            for name, value in {**sensitive, **option.parameters}.items()
        ),
        *(
            f"{role} := [{', '.join(map(literal, columns))}]"
            for role in ("record_id", "exclude")
            if (columns := getattr(table, role))
        ),
    ]
    return f"FROM priv.publish_{method.name}({', '.join(arguments)});"


def _written(value: Any) -> str:
    """Write an argument.

    >>> _written({"age": 2}), _written(0.5)
    ("{'age': 2}", '0.5e0')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {each}" for name, each in value.items()) + "}"
    return literal(value)

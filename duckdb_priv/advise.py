"""Which mechanism, with which parameters: what each promises, and the error to expect, without publishing anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from duckdb_priv.answers import count, open_workload
from duckdb_priv.counted_groups import generalized_groups, micro_groups
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.grids import GRIDS, MECHANISMS, smallest_sample
from duckdb_priv.mechanism.uniform import amplification_gamma
from duckdb_priv.options import Option, Question, Requirement
from duckdb_priv.parameters import listed, to_json
from duckdb_priv.procedures import Call, procedure
from duckdb_priv.recipes.domain import key_expression
from duckdb_priv.recipes.uniform import number
from duckdb_priv.source import Source, parse_name
from duckdb_priv.sqlfiles import literal
from duckdb_priv.workload import Draw, draw, open_table

BELIEF = 0.1
"""The belief whose rise is shown where no other is asked about."""


@procedure
def advise(call: Call) -> list[dict[str, Any]]:
    """Lay the options out, those that meet the requirement first, the most accurate at the top."""
    source = open_table(call, call.arguments.get("source"), "sensitive")
    if len(source.sensitive) > 1:
        raise InvalidParameter(
            f"advice is for one sensitive column, got {len(source.sensitive)}",
            hint="ask for each of them; their epsilons add up",
        )
    required = _requirement(call.arguments)
    question = _question(call, source, required)
    rows = [
        _row(call, source, option, required)
        for options in MECHANISMS.values()
        for option in options(question)
    ]
    return sorted(rows, key=lambda row: (not row["meets"], row["mean_relative_error"]))


def _requirement(arguments: Mapping[str, Any]) -> Requirement:
    limits = None
    if arguments.get("rho1") is not None or arguments.get("rho2") is not None:
        limits = (number(arguments, "rho1"), number(arguments, "rho2"))
        amplification_gamma(*limits)
    given = {
        name: number(arguments, name)
        for name in ("epsilon", "delta", "max_error")
        if arguments.get(name) is not None
    }
    for name, value in given.items():
        if not 0 < value < math.inf:
            raise InvalidParameter(f"{name} must be a positive number, got {value!r}")
    if "delta" in given and "epsilon" not in given:
        raise InvalidParameter(
            "delta is given without epsilon", hint="write epsilon := 1.0, delta := 1e-6"
        )
    return Requirement(
        limits, given.get("epsilon"), given.get("delta", 0.0), given.get("max_error")
    )


def _question(call: Call, source: Source, required: Requirement) -> Question:
    """Count what the workload counts."""
    if call.arguments.get("workload") is not None:
        open_workload(call, call.arguments["workload"])
    else:
        draw(call.cursor, source, Draw.read(call.arguments, source.rows))
    count(call.cursor, source)
    column = key_expression(source.sensitive[0], source.types[source.sensitive[0]])
    frequencies = call.rows(
        f"SELECT {column}::VARCHAR, count(*) FROM {source.table} GROUP BY ALL ORDER BY ALL"
    )
    place = {value: n for n, (value, _) in enumerate(frequencies)}
    call.cursor.execute(
        "CREATE OR REPLACE TEMP TABLE _priv_numbers AS"
        " SELECT query, row_number() OVER (ORDER BY query) - 1 AS number FROM _priv_counts WHERE true_count > 0"
    )
    asked = call.rows(
        "SELECT number, any_value(asked) FROM _priv_histograms JOIN _priv_numbers USING (query) GROUP BY ALL ORDER BY 1"
    )
    if not asked:
        raise InvalidParameter(
            "every query of the workload counts nobody", hint="a relative error needs a count"
        )
    call.cursor.register(
        "_priv_places",
        pa.table({"value": pa.array(list(place), pa.string()), "place": pa.array(place.values())}),
    )
    counted = call.cursor.execute(
        "SELECT number, place, h.records FROM _priv_histograms AS h JOIN _priv_numbers USING (query)"
        " JOIN _priv_places AS p ON p.value IS NOT DISTINCT FROM h.value"
    ).fetchnumpy()
    call.cursor.unregister("_priv_places")
    histograms = np.zeros((len(place), len(asked)))
    histograms[counted["place"], counted["number"]] = counted["records"]
    grids = {name: _grid(call.arguments, name) for name in GRIDS}
    return Question(
        attribute=source.sensitive[0],
        frequencies=np.array([count for _, count in frequencies], dtype=np.float64),
        histograms=histograms,
        positions=np.array([place[value] for _, value in asked], dtype=np.intp),
        micro_groups=micro_groups(call, source, smallest_sample(grids, required, len(place))),
        generalized=generalized_groups(call, source),
        grids=grids,
        required=required,
    )


def _grid(arguments: Mapping[str, Any], name: str) -> list[float]:
    given = arguments.get(name)
    if not isinstance(given, list):
        raise InvalidParameter(
            f"{name} must be a list of numbers, got {given!r}", hint="write [0.2, 0.5], or []"
        )
    return [number({name: each}, name) for each in given]


def _row(call: Call, source: Source, option: Option, required: Requirement) -> dict[str, Any]:
    belief = (required.limits or (BELIEF,))[0]
    return {
        "mechanism": option.mechanism,
        "parameters": to_json(option.parameters),
        "guarantee": _guarantee(option, belief),
        "epsilon": option.epsilon,
        "delta": option.delta,
        "mean_relative_error": option.mean_relative_error,
        "median_relative_error": option.median_relative_error,
        "suppressed": option.suppressed,
        "basis": option.basis,
        "meets": _meets(option, required),
        "statement": _statement(call, source, option),
    }


def _meets(option: Option, required: Requirement) -> bool:
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


def _guarantee(option: Option, belief: float) -> str:
    """Say what an option promises: in its own words, and of whatever was believed before."""
    words = list(option.promises)
    gamma = option.amplification
    if math.isfinite(gamma):
        risen = belief * gamma / (1 + belief * (gamma - 1))
        words.append(
            f"A published value changes odds by a factor of at most {gamma:.4g}"
            f" (epsilon = {math.log(gamma):.4g}): a belief of {belief:.3g} rises to at most {risen:.3g}."
        )
    return " ".join(words)


def _statement(call: Call, source: Source, option: Option) -> str:
    """Write the statement that publishes with this option."""
    # A generalized sample treats all columns alike.
    sensitive = {} if option.mechanism == "safe_k" else {"sensitive": source.sensitive[0]}
    arguments = [
        literal(call.arguments["source"]),
        literal(parse_name(source.name)[-1].replace(".", "_") + "_public"),
        *(
            f"{name} := {_written(value)}"
            for name, value in {**sensitive, **option.parameters}.items()
        ),
        *(
            f"{role} := [{', '.join(map(literal, columns))}]"
            for role in ("record_id", "exclude")
            if (columns := listed(call.arguments, role))
        ),
    ]
    return f"FROM priv.publish_{option.mechanism}({', '.join(arguments)});"


def _written(value: Any) -> str:
    """Write an argument.

    >>> _written({"age": 2}), _written(0.5)
    ("{'age': 2}", '0.5e0')
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {each}" for name, each in value.items()) + "}"
    return literal(value)

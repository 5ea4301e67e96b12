"""Which mechanism, with which parameters: what each promises, and the error to expect, without publishing anything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.persons import count_persons
from duckdb_priv.engine.source import Source, key_expression, open_source, parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.evaluation.answers import count, open_workload
from duckdb_priv.evaluation.counted_groups import generalized_groups, micro_groups
from duckdb_priv.evaluation.workload import TABLE as QUERIES
from duckdb_priv.evaluation.workload import Draw, DrawArguments, TableArguments, draw
from duckdb_priv.mechanism.composition import EpsilonDelta, of_group
from duckdb_priv.mechanism.uniform import amplification_gamma
from duckdb_priv.methods.common.options import Demand, Option, Question
from duckdb_priv.methods.common.parameters import RHO1, RHO2
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.release.arguments import (
    COLUMNS,
    NUMBER,
    TABLE,
    Alternatives,
    Arguments,
    argument,
    read,
    whole,
)
from duckdb_priv.release.model import to_json
from duckdb_priv.release.promise import factor, of_person, weak
from duckdb_priv.sqltext.quoting import literal

PRIOR = 0.1
"""The prior whose posterior is shown if no other is asked about."""


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
    public: tuple[str, ...] | None = argument(
        COLUMNS, "the columns that are published as they are", "['age', 'gender']", default=None
    )
    person: tuple[str, ...] = argument(
        COLUMNS, "the column that tells whose record it is", "'patient_nbr'", default=()
    )
    max_rows: int | None = argument(
        whole(1), "the most records of one person that are published", "3", default=None
    )

    alternatives: ClassVar = (Alternatives("", ((), ("rho1", "rho2"))),)


def advise(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay the options out, those that meet the requirement first, the most accurate at the top."""
    advised = {name: method.grid for name, method in METHODS.items() if method.grid is not None}
    table, wish, arguments, *grids = read(
        given, TableArguments, DrawArguments, AdviceArguments, *advised.values(), of="advise"
    )
    required = _demand(arguments)
    source = _open(workspace, table, arguments)
    several = len(source.sensitive) > 1
    of: list[dict[str, list[Option]]] = []
    for attribute in source.sensitive:
        workspace.stage(f"counting what is asked about {attribute}")
        one = replace(source, sensitive=(attribute,))
        question = _question(workspace, one, wish, arguments, required)
        of.append({})
        for name, grid in zip(advised, grids, strict=True):
            method = METHODS[name]
            if not several or (method.sensitive and not method.advised_alone):
                workspace.stage(f"predicting errors of {attribute}: {name}")
                of[-1][name] = list(method.options(question, grid))
    rows = [
        _row(table, source, arguments, METHODS[name], option, required)
        for name in of[0]
        for option in _together([each[name] for each in of], METHODS[name], required)
    ]
    return sorted(rows, key=lambda row: (not row["meets"], row["mean_relative_error"]))


def _open(workspace: Workspace, table: TableArguments, arguments: AdviceArguments) -> Source:
    """Open the table: its records that would enter, and what may be asked about."""
    if arguments.max_rows is not None and not (arguments.person and table.record_id):
        raise InvalidParameter(
            "max_rows chooses among the records of a person by their ids, which needs person and record_id",
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


def _together(of: Sequence[Sequence[Option]], method: Method, required: Demand) -> Iterator[Option]:
    """Yield what can be published with the same arguments for all columns; ``of`` has the options of each."""
    if len(of) == 1:
        yield from of[0]
        return
    known = [{to_json(option.parameters): option for option in options} for options in of]
    common = [key for key in known[0] if all(key in each for each in known)]
    for key in common:
        yield _joint([each[key] for each in known], known[0][key].parameters)
    # The largest that a requirement allows has another retention for each number of values, and one way to ask for it.
    rest = [[each[key] for key in each if key not in common] for each in known]
    asked: dict[str, Any] = {}
    if required.limits is not None:
        asked = dict(zip(("rho1", "rho2"), required.limits, strict=True))
    elif required.epsilon is not None:
        asked = {"epsilon": required.epsilon}
    names = {each.name for each in fields(cast(Any, method.arguments))}
    if asked and {"epsilon", "rho1", "rho2"} <= names and all(len(each) == 1 for each in rest):
        yield _joint([options[0] for options in rest], asked)


def _joint(options: Sequence[Option], parameters: Mapping[str, Any]) -> Option:
    """Return one option for several columns, with the questions about all of them."""
    epsilons = [each.epsilon for each in options]
    return Option(
        parameters,
        [*dict.fromkeys(promise for each in options for promise in each.promises)],
        np.concatenate([each.counts for each in options]),
        np.concatenate([np.broadcast_to(each.deviations, each.counts.shape) for each in options]),
        options[0].basis,
        biases=np.concatenate(
            [np.broadcast_to(each.biases, each.counts.shape) for each in options]
        ),
        amplification=max(each.amplification for each in options),
        epsilon=None if None in epsilons else max(each or 0.0 for each in epsilons),
        delta=max((each.delta for each in options if each.delta is not None), default=None),
        suppressed=options[0].suppressed,
    )


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
        workspace.cursor.execute(
            f"DELETE FROM {QUERIES} WHERE lower(attribute) <> lower(?)", [source.sensitive[0]]
        )
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
    table: TableArguments,
    source: Source,
    arguments: AdviceArguments,
    method: Method,
    option: Option,
    required: Demand,
) -> dict[str, Any]:
    prior = (required.limits or (PRIOR,))[0]
    return {
        "mechanism": method.name,
        "parameters": to_json(option.parameters),
        "guarantee": _guarantee(option, prior, method, source),
        "epsilon": option.epsilon,
        "delta": option.delta,
        "mean_relative_error": option.mean_relative_error,
        "median_relative_error": option.median_relative_error,
        "suppressed": option.suppressed,
        "basis": option.basis,
        "meets": _meets(option, required),
        "statement": _statement(table, source, arguments, method, option),
    }


def _meets(option: Option, required: Demand) -> bool:
    """Return whether an option satisfies everything that is asked; a limit that it says nothing of is not met."""
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


def _guarantee(option: Option, prior: float, method: Method, source: Source) -> str:
    """Return what an option promises: in its own words, of one value, and of a person with several."""
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
        # Where a method promises its epsilon for all columns together, it does not add up over them.
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


def _statement(
    table: TableArguments,
    source: Source,
    given: AdviceArguments,
    method: Method,
    option: Option,
) -> str:
    """Write the statement that publishes with this option."""
    names = source.sensitive
    sensitive = {"sensitive": names[0] if len(names) == 1 else names} if method.sensitive else {}
    arguments = [
        literal(table.source),
        literal(parse_name(source.name)[-1].replace(".", "_") + "_public"),
        *(
            f"{name} := {_written(value)}"
            for name, value in {**sensitive, **option.parameters}.items()
        ),
        *(
            f"{role} := {_written(columns)}"
            for role, columns in (
                ("record_id", table.record_id),
                ("exclude", table.exclude),
                ("public", given.public),
                ("person", given.person),
            )
            if columns
        ),
        *([f"max_rows := {given.max_rows}"] if given.max_rows is not None else []),
    ]
    return f"FROM priv.publish_{method.name}({', '.join(arguments)});"


def _written(value: Any) -> str:
    """Write an argument.

    >>> _written({"age": 2}), _written(0.5), _written(("a", "b"))
    ("{'age': 2}", '0.5e0', "['a', 'b']")
    """
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(name)}: {each}" for name, each in value.items()) + "}"
    return literal(value)

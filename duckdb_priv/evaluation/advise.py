"""Compares mechanisms and parameters before publishing: their guarantees and expected errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

from duckdb_priv.engine.source import Source, key_expression, parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.evaluation.advised import PRIOR, AdviceArguments, opened, promised, statement
from duckdb_priv.evaluation.answers import SQL, count, open_workload
from duckdb_priv.evaluation.counted_groups import generalized_groups, micro_groups
from duckdb_priv.evaluation.workload import DrawArguments, TableArguments, draw
from duckdb_priv.mechanism.histogram_errors import of_operator
from duckdb_priv.mechanism.uniform import amplification_gamma
from duckdb_priv.methods.common.asked import gram_of, named
from duckdb_priv.methods.common.bins import Binned, Edges, of_attribute, open_binned
from duckdb_priv.methods.common.local_privacy import asked_amplification
from duckdb_priv.methods.common.options import (
    Demand,
    Option,
    Question,
    StatedOption,
    StatedQuestions,
)
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.release.arguments import read
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.reading import counts_of, make_table
from duckdb_priv.sqltext.templates import section


def advise(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the options: those that meet the requirements first, and the most accurate first among them."""
    advised = {name: method.grid for name, method in METHODS.items() if method.grid is not None}
    table, wish, arguments, *grids = read(
        given, TableArguments, DrawArguments, AdviceArguments, *advised.values(), of="advise"
    )
    required = _demand(arguments)
    if arguments.questions is not None:
        return advise_stated(workspace, table, arguments, required.limits)
    source = opened(workspace, table, arguments)
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


def _together(of: Sequence[Sequence[Option]], method: Method, required: Demand) -> Iterator[Option]:
    """Yield the options that are available for all columns; ``of`` has the options of each column."""
    if len(of) == 1:
        yield from of[0]
        return
    known = [{to_json(option.parameters): option for option in options} for options in of]
    common = [key for key in known[0] if all(key in each for each in known)]
    for key in common:
        yield _joint([each[key] for each in known], known[0][key].parameters)
    # The option at the limit of a requirement has a different retention for each domain size. So its arguments are the
    # requirement itself, which is the same for all columns.
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
    """Combine the options of several columns, with the queries about all of them."""
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
    """Compute the true counts and histograms of the workload's queries."""
    if arguments.workload is not None:
        open_workload(workspace, arguments.workload)
        workspace.cursor.execute(
            section("evaluation/workload", "keep_attribute"), [source.sensitive[0]]
        )
    else:
        draw(workspace.cursor, source, wish)
    count(workspace.cursor, source)
    column = key_expression(source.sensitive[0], source.types[source.sensitive[0]])
    frequencies = counts_of(workspace.cursor, column, source.table)
    place = {value: n for n, (value, _) in enumerate(frequencies)}
    make_table(workspace.cursor, "_priv_numbers", section(SQL, "numbers"))
    asked = workspace.rows(section(SQL, "asked_values"))
    if not asked:
        raise InvalidParameter(
            "every query of the workload counts 0 records, for which there is no relative error",
            hint="write queries that count at least one record",
        )
    workspace.cursor.register(
        "_priv_places",
        pa.table({"value": pa.array(list(place), pa.string()), "place": pa.array(place.values())}),
    )
    counted = workspace.cursor.execute(section(SQL, "numbered_histograms")).fetchnumpy()
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
        "guarantee": promised(option, prior, method, source),
        "epsilon": option.epsilon,
        "delta": option.delta,
        "mean_relative_error": option.mean_relative_error,
        "median_relative_error": option.median_relative_error,
        "suppressed": option.suppressed,
        "basis": option.basis,
        "meets": _meets(option, required),
        "statement": statement(table, source, arguments, method, option),
    }


def _meets(option: Option, required: Demand) -> bool:
    """Return whether an option satisfies all requirements; an option without epsilon meets no limit of epsilon."""
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


SAME = 5e-4
"""Errors whose relative difference is smaller count as equal; then the method listed first comes first."""


def advise_stated(
    workspace: Workspace,
    table: TableArguments,
    arguments: AdviceArguments,
    limits: tuple[float, float] | None,
) -> list[dict[str, Any]]:
    """Compare the methods with a known operator; return the most accurate first."""
    _check(table, arguments, limits)
    source = opened(workspace, table, arguments)
    edges = Edges(arguments.bins, arguments.low, arguments.high, clip=arguments.clip)
    (binned,) = open_binned(workspace, source, edges)
    asked = _asked(workspace, source, binned, arguments, limits)
    questions = named(of_attribute(arguments.questions, source, asked.attribute))
    found: list[tuple[float, str, StatedOption]] = []
    for name, method in METHODS.items():
        if method.answers:
            workspace.stage(f"predicting errors of {asked.attribute}: {name}")
            for answer in method.answering(workspace, asked):
                errors = of_operator(answer.operator, answer.weights, asked.counts)
                found.append((errors.of(asked.gram) / asked.counts.sum(), name, answer))
    least = min(error for error, _, _ in found)
    # Sorting is stable, so of methods with equal errors the one listed first comes first.
    found.sort(key=lambda each: least if each[0] <= least * (1 + SAME) else each[0])
    prior = (limits or (PRIOR,))[0]
    return [
        {
            "mechanism": name,
            "parameters": to_json(answer.parameters),
            "guarantee": promised(answer, prior, METHODS[name], source),
            "epsilon": answer.epsilon,
            "basis": _verdict(questions, found, n, asked),
            "meets": True,
            "expected_error": error,
            "statement": _statement(table, source, binned, arguments, name, answer),
        }
        for n, (error, name, answer) in enumerate(found)
    ]


def _check(
    table: TableArguments, arguments: AdviceArguments, limits: tuple[float, float] | None
) -> None:
    """Raise InvalidParameter for arguments that do not fit stated questions."""
    if len(table.sensitive) > 1:
        raise InvalidParameter(
            "stated questions are about one column",
            hint="ask for the advice of each column, and name one as sensitive",
        )
    if (arguments.epsilon is None) == (limits is None) or arguments.delta is not None:
        raise InvalidParameter(
            "errors of stated questions are compared at the same guarantee: give either epsilon, or rho1 and rho2",
            hint="write epsilon := 1.0, or rho1 := 0.1, rho2 := 0.5",
        )
    if arguments.workload is not None or arguments.max_error is not None:
        raise InvalidParameter(
            "workload and max_error are about counts of single values, so they cannot be used with questions",
            hint="leave out workload and max_error, and compare the column expected_error",
        )


def _asked(
    workspace: Workspace,
    source: Source,
    binned: Binned,
    arguments: AdviceArguments,
    limits: tuple[float, float] | None,
) -> StatedQuestions:
    """Count the records of each bin, and read the questions."""
    domain, cut = binned.domain, binned.domain.cut
    amplification, _ = asked_amplification(arguments.epsilon, *(limits if limits else (None, None)))
    given = {
        name: value
        for name in ("questions", "bins", "low", "high")
        if (value := of_attribute(getattr(arguments, name), source, domain.attribute)) is not None
    }
    return StatedQuestions(
        attribute=domain.attribute,
        counts=binned.counts(workspace, source),
        gram=gram_of(
            workspace,
            source,
            cut.kind,
            binned.points,
            of_attribute(arguments.questions, source, domain.attribute),
            missing=None in domain.values,
        ),
        amplification=amplification,
        promise=dict(zip(("rho1", "rho2"), limits, strict=True))
        if limits
        else {"epsilon": arguments.epsilon},
        given={**given, **({"clip": True} if arguments.clip else {})},
    )


def _verdict(
    questions: object,
    found: Sequence[tuple[float, str, StatedOption]],
    n: int,
    asked: StatedQuestions,
) -> str:
    """Return a sentence that compares the methods' errors."""
    least, best, _ = found[0]
    error, name, _ = found[n]
    if n == 0:
        behind = ", ".join(
            f"{error / least:.3g} times less than that of publish_{name}"
            if error > least * (1 + SAME)
            else f"equal to that of publish_{name}"
            for error, name, _ in found[1:]
        )
        return f"publish_{best} has the least error for {questions} at epsilon {asked.epsilon:.4g}: {behind}."
    return (
        f"publish_{best} has the least error for {questions}; that of publish_{name} is"
        f" {f'{error / least:.3g} times as large' if error > least * (1 + SAME) else 'equal'}."
    )


def _statement(
    table: TableArguments,
    source: Source,
    binned: Binned,
    arguments: AdviceArguments,
    method: str,
    answer: StatedOption,
) -> str:
    """Write the statement that publishes. If the method does not cut numbers into bins, it publishes a view of bins."""
    if answer.cuts:
        return statement(table, source, arguments, METHODS[method], answer)
    view = f"{parse_name(source.name)[-1].replace('.', '_')}_in_bins"
    publishing = statement(
        replace(table, source=view),
        replace(source, name=view),
        arguments,
        METHODS[method],
        replace(answer, parameters={**answer.parameters, "domain": binned.domain.values}),
    )
    return f"{binned.view(view, source.name)}\n{publishing}"

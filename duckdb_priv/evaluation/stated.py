"""Compares the errors of mechanisms for stated questions about numbers, at the same guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from duckdb_priv.engine.source import Source, parse_name
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter
from duckdb_priv.evaluation.advised import PRIOR, AdviceArguments, opened, promised, statement
from duckdb_priv.evaluation.workload import TableArguments
from duckdb_priv.mechanism.histogram_errors import of_operator
from duckdb_priv.methods.common.asked import gram_of, named
from duckdb_priv.methods.common.bins import Binned, Edges, of_attribute, open_binned
from duckdb_priv.methods.common.local_privacy import asked_amplification
from duckdb_priv.methods.common.options import StatedOption, StatedQuestions
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release.model import to_json

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
    return [
        {
            "mechanism": name,
            "parameters": to_json(answer.parameters),
            "guarantee": promised(answer, (limits or (PRIOR,))[0], METHODS[name], source),
            "epsilon": answer.epsilon,
            "delta": None,
            "mean_relative_error": None,
            "median_relative_error": None,
            "suppressed": None,
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

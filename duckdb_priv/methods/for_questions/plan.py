"""Publishing ordered values by the operator that has the least expected error for stated questions.

Source: McKenna, Maity, Mazumdar, Miklau, "A workload-adaptive mechanism for linear queries under local differential
privacy" (2020).
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.arrays import Matrix
from duckdb_priv.mechanism.questions import (
    choose_operator,
    claimed_amplification,
    error_bound,
    mean_error,
    uniform_operator,
)
from duckdb_priv.methods.common.asked import gram_of, named
from duckdb_priv.methods.common.bins import Binned, Edges, of_attribute, open_binned
from duckdb_priv.methods.common.local_privacy import asked_amplification, operator_guarantees
from duckdb_priv.methods.common.perturbed import exchanged, plan_of
from duckdb_priv.methods.for_questions.arguments import RANDOM, ForQuestionsArguments

MECHANISM = "for_questions"


@dataclass(frozen=True)
class Answering:
    """An attribute with the operator that was chosen for its questions."""

    binned: Binned
    questions: str
    gram: Matrix
    operator: Matrix

    @property
    def attribute(self) -> str:
        """The name of the attribute."""
        return self.binned.domain.attribute

    @property
    def amplification(self) -> float:
        """The largest likelihood ratio, computed from the integers that draw the shown values."""
        return claimed_amplification(self.operator)

    @property
    def error(self) -> float:
        """The standard deviation that one record adds to an answer."""
        return mean_error(self.gram, self.operator)

    @property
    def bound(self) -> float:
        """Lower bound on the error of every operator."""
        return error_bound(self.gram, self.amplification)

    @property
    def uniform_error(self) -> float:
        """The error of uniform perturbation with the same guarantee."""
        return mean_error(self.gram, uniform_operator(len(self.gram), self.amplification))


def plan(
    workspace: Workspace, source: Source, release: str, arguments: ForQuestionsArguments
) -> Plan:
    """Return the plan of a release whose sensitive numbers have the least error for stated questions."""
    amplification, limits = asked_amplification(arguments.epsilon, arguments.rho1, arguments.rho2)
    of = [
        _answering(
            workspace,
            source,
            each,
            of_attribute(arguments.questions, source, each.domain.attribute),
            amplification,
        )
        for each in open_binned(
            workspace,
            source,
            Edges(
                arguments.bins,
                arguments.low,
                arguments.high,
                arguments.rounding == RANDOM,
                arguments.clip,
            ),
        )
    ]
    perturbed = [
        exchanged(
            workspace,
            source,
            release,
            MECHANISM,
            each.binned.domain,
            each.operator,
            operator_guarantees(each.attribute, each.operator, limits),
            math.log(each.amplification),
            _gained(each),
            edges=each.binned.domain.cut.edges,
            rounded=each.binned.domain.cut.rounded,
        )
        for each in of
    ]
    parameters = _parameters(of, arguments, math.log(amplification))
    return plan_of(workspace, source, MECHANISM, parameters, perturbed)


def _answering(
    workspace: Workspace, source: Source, binned: Binned, questions: Any, amplification: float
) -> Answering:
    domain = binned.domain
    gram = gram_of(
        workspace, source, domain.cut.kind, binned.points, questions, missing=None in domain.values
    )
    operator = chosen_operator(workspace, domain.attribute, gram, amplification)
    return Answering(binned, questions, gram, operator)


def _parameters(
    of: list[Answering], arguments: ForQuestionsArguments, epsilon: float
) -> dict[str, Any]:
    return {
        "questions": {each.attribute: each.questions for each in of},
        "epsilon": epsilon,
        **({"rho1": arguments.rho1, "rho2": arguments.rho2} if arguments.rho1 is not None else {}),
        "edges": {each.attribute: each.binned.domain.cut.edges for each in of},
        "rounding": arguments.rounding,
        "error": {each.attribute: each.error for each in of},
        "bound": {each.attribute: each.bound for each in of},
    }


def _gained(each: Answering) -> str:
    """Return a sentence on the questions of the operator, and its gain over uniform perturbation."""
    cut = each.binned.domain.cut
    rounded = (
        "Numbers are rounded at random to one of the two edges beside them, so that means stay what they are."
        if cut.rounded
        else "A value is the middle of its bin: an interval covers the noise, and not that."
    )
    gain = f"{each.uniform_error / each.error:.3g}"
    error = "that of uniform perturbation"
    if gain != "1":
        error = f"{gain} times less than with uniform perturbation"
    return (
        f"The values of {each.attribute}, in {len(cut.edges) - 1} bins, are perturbed for {named(each.questions)}: the"
        f" error is {error}. {rounded}"
    )


SEARCH = 1
"""Version of the search; increase it when the search finds other operators for the same questions."""


def chosen_operator(
    workspace: Workspace, attribute: str, gram: Matrix, amplification: float
) -> Matrix:
    """Return the operator for stated questions: the stored one, if a search has been made before."""
    key = hashlib.sha256(json.dumps([SEARCH, amplification, gram.tolist()]).encode()).hexdigest()
    found = workspace.rows("SELECT operator FROM priv.chosen_operator WHERE questions = ?", [key])
    if found:
        return np.array(found[0][0], np.float64).reshape(gram.shape)

    def report(share: float) -> None:
        workspace.stage(f"choosing the operator of {attribute}: {share:.0%}")

    operator = choose_operator(gram, amplification, report)
    workspace.rows(
        "INSERT INTO priv.chosen_operator VALUES (?, ?)", [key, operator.ravel().tolist()]
    )
    return operator

"""Preview of fine-grain perturbation: the retention and error of each value, without publishing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from duckdb_priv.engine.source import open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import uniform_retention
from duckdb_priv.mechanism.operator import linear_variance
from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments
from duckdb_priv.methods.fine_grain.program import Program, solve_programs
from duckdb_priv.release.arguments import COLUMNS, NAME, Arguments, argument, read
from duckdb_priv.release.request import Roles


@dataclass(frozen=True, kw_only=True)
class PlanArguments(Arguments):
    """The table, and its sensitive columns."""

    source: str = argument(NAME, "the table or view to publish", "'visits'")
    sensitive: tuple[str, ...] = argument(
        COLUMNS,
        "the column whose values are protected, or a list of them",
        "'disease'",
        missing="no sensitive column is named",
    )


def fine_grain_plan(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row for each value with its retention and error in publish_fine_grain, without publishing."""
    table, arguments = read(given, PlanArguments, FineGrainArguments, of="fine_grain_plan")
    source = open_source(workspace, table.source, Roles(table.sensitive))
    programs = solve_programs(workspace, source, arguments)
    return [row for program in programs for row in _plan_rows(program)]


def _plan_rows(program: Program) -> list[dict[str, Any]]:
    """Return the solution of a program as rows. Numbers that may be infinite are texts, which SQL converts."""
    operator, counts = program.operator, np.array(program.domain.counts, dtype=np.float64)
    gamma = program.requirements.gamma()
    uniform = FineGrain(np.full(gamma.size, uniform_retention(gamma)))
    variance = linear_variance(operator.weights(), operator.matrix(), counts)
    condition = str(operator.condition_number)
    stderr = np.where(operator.identifiable, np.sqrt(np.maximum(variance, 0)), np.inf)
    return [
        {
            "attribute": program.domain.attribute,
            "value": value,
            "records": program.domain.counts[n],
            "gamma": str(float(gamma[n])),
            "retention": float(operator.retentions[n]),
            "diagonal": float(operator.own[n]),
            "uniform": float(uniform.own[n]),
            "gain": float(operator.own[n] - uniform.own[n]),
            "stderr": str(float(stderr[n])),
            "condition_number": condition,
        }
        for n, value in enumerate(program.domain.values)
    ]

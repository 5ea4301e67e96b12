"""The procedures of the schema priv by name. The module of a procedure is loaded at its first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from duckdb_priv.engine.procedures import Procedure
from duckdb_priv.methods.register import METHODS

PUBLISH = "publish_"
"""The prefix of the procedures that publish with a method."""
PROCEDURES = {
    "advise": "duckdb_priv.evaluation.advise",
    "aggregate_utility": "duckdb_priv.evaluation.utility",
    "audit": "duckdb_priv.publisher.audit",
    "budget": "duckdb_priv.publisher.budget",
    "check_source": "duckdb_priv.publisher.check.check",
    "compare": "duckdb_priv.publisher.compare",
    "derive": "duckdb_priv.publisher.derivation",
    "drop_release": "duckdb_priv.publisher.publish",
    "evaluate": "duckdb_priv.evaluation.evaluate",
    "evaluation_summary": "duckdb_priv.evaluation.evaluate",
    "expected_error": "duckdb_priv.evaluation.utility",
    "export_release": "duckdb_priv.card.export",
    "publications": "duckdb_priv.publisher.refresh",
    "record_utility": "duckdb_priv.evaluation.utility",
    "refresh": "duckdb_priv.publisher.refresh",
    "registry": "duckdb_priv.publisher.registry",
    "rotate_secret": "duckdb_priv.publisher.rotation",
    "withdraw": "duckdb_priv.publisher.withdrawal",
    "workload": "duckdb_priv.evaluation.workload",
}
"""The module that defines each procedure, as a function of the same name."""


def find_procedure(name: str) -> Procedure:
    """Return a procedure by its name: one of PROCEDURES, or one that publishes with a method or is part of it."""
    for method in METHODS.values():
        if name == f"{PUBLISH}{method.name}":
            publish: Callable[..., Any] = _load("duckdb_priv.publisher.publish", "publish")
            return partial(publish, method)
        if name in method.procedures:
            return method.procedure(name)
    return _load(PROCEDURES[name], name)


def _load(module: str, name: str) -> Procedure:
    found: Procedure = getattr(import_module(module), name)
    return found

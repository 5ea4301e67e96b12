"""Writes the publisher's macros: SQL files whose placeholders are filled from the register of methods.

The parameters of a method are defined once, in its record. They fill the parameters of ``priv.publish_<name>`` and the
lists of ``priv.advise``. A method without its own SQL file gets a macro, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from functools import cache
from typing import Any

from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.release.arguments import LEVELS, specs
from duckdb_priv.release.request import Request, SensitiveRequest
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import identifier, listed, literal
from duckdb_priv.sqltext.templates import body, fill, read, section

FRAGMENTS = (
    "caller",
    "run",
    "ask",
    "number",
    "receipt",
    "hidden",
    "groups",
    "risks",
    "perturbed",
    "publish",
)
"""SQL fragments that several macros share."""
FIRST = ("source", "release")
"""The positional arguments of every publication."""
LAST = tuple(name for name in specs(Request) if name not in FIRST)
"""The named arguments of every publication, last in its macro."""


def publisher_macros() -> Mapping[str, str]:
    """Return the SQL of every macro, by the name that it shares with its procedure."""
    return _macros(tuple(METHODS.values()))


@cache
def _macros(methods: tuple[Method, ...]) -> Mapping[str, str]:
    shared = {name: body(read("publisher/fragments", name)) for name in FRAGMENTS} | _of_all(
        methods
    )
    texts = {name: body(read("publisher", name)) for name in templates.names("publisher")}
    own: dict[str, dict[str, str]] = {}
    for method in methods:
        name = f"publish_{method.name}"
        own[name] = _of_one(method)
        texts.setdefault(name, shared["publish"])
    return {
        name: fill(text, shared | own.get(name, {}) | {"name": literal(name)})
        for name, text in texts.items()
    }


def _of_one(method: Method) -> dict[str, str]:
    """Return the placeholders of the macro that publishes with a method."""
    request = SensitiveRequest if method.sensitive else Request
    known = specs(request) | specs(method.arguments)
    of_request = [name for name in specs(request) if name not in (*FIRST, *LAST)]
    names = [*of_request, *specs(method.arguments), *LAST]
    constants = [name for name, (spec, _) in specs(method.arguments).items() if spec.kind is LEVELS]
    return {
        "macro": identifier(f"publish_{method.name}"),
        "parameters": _parameters({name: known[name][1] for name in names}),
        "arguments": _arguments(names),
        # Arguments of a table function are constants: DuckDB itself refuses a subquery, which could read the source.
        "constants": section("publishing", "constants", arguments=_arguments(constants))
        if constants
        else "",
        "comment": literal(method.comment),
    }


def _of_all(methods: Iterable[Method]) -> dict[str, str]:
    """Return the placeholders of ``priv.advise`` (the lists of values that methods try) and ``priv.ledger``."""
    known = list(methods)
    lists = {
        name: default
        for method in known
        if method.grid is not None
        for name, (_, default) in specs(method.grid).items()
    }
    return {
        "grid_parameters": _parameters(lists),
        "grid_arguments": _arguments(lists),
        "of_whole_records": listed([each.name for each in known if each.whole_records]),
        "of_all_values": listed([each.name for each in known if each.jointly]),
    }


def _parameters(defaults: Mapping[str, Any]) -> str:
    return ", ".join(f"{identifier(name)} := {_written(value)}" for name, value in defaults.items())


def _arguments(names: Iterable[str]) -> str:
    return ", ".join(f"{identifier(name)}: {identifier(name)}" for name in names)


def _written(value: Any) -> str:
    """Write a default value as SQL; NULL if it is missing or empty.

    >>> _written((0.05, 5)), _written("mixed"), _written(False), _written(())
    ('[0.05, 5]', "'mixed'", 'false', 'NULL')
    """
    if value is None or value is MISSING or value == ():
        return "NULL"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(value) if isinstance(value, float) else literal(value)

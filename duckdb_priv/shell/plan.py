"""Reads, writes and compares TOML files that declare publications."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any

from duckdb_priv.errors import InvalidParameter, UnknownName, echoed
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.publisher.declared import OF_ONE_CALL
from duckdb_priv.publisher.export import ExportArguments
from duckdb_priv.release.arguments import read, specs
from duckdb_priv.release.request import Request, SensitiveRequest
from duckdb_priv.shell.options import LEVELS

KEYS = ("database", "attach", "init", "fail_on", "release")
OWN = ("method", "export")
"""The keys of a release's TOML table that are not arguments of its method."""
BARE = re.compile(r"[A-Za-z0-9_-]+")
NOTHING = {"null": True}
"""The TOML value that stands for NULL, which TOML lacks."""


@dataclass(frozen=True)
class Planned:
    """A release that a file declares."""

    release: str
    method: Method
    arguments: Mapping[str, Any]
    """The arguments of the method by name. Paths are written as in the file."""
    export: Mapping[str, Any] | None

    @property
    def stated(self) -> dict[str, Any]:
        """The declared values that differ from their defaults, by key."""
        return stated(self.method, self.arguments, self.export)


@dataclass(frozen=True)
class Publications:
    """A file of declared publications."""

    database: str
    attached: tuple[str, ...]
    scripts: tuple[str, ...]
    fail_on: str
    releases: tuple[Planned, ...] = field(default=())


def read_plan(path: str) -> Publications:
    """Read a file of publications. Paths in it are relative to its folder.

    Raises InvalidParameter for a file that is not TOML or has an invalid value, and UnknownName for an unknown key.
    """
    place = Path(path)
    try:
        given = tomllib.loads(place.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"{echoed(path)} is not TOML: {error}") from None
    given = _with_nothing(given)
    _known(given, KEYS, path)
    wrong = [
        f"{name} must be {words}"
        for name, kind, words in (
            ("database", str, "the path of a database"),
            ("attach", dict, "a table of names and paths"),
            ("init", list, "a list of SQL files"),
            ("release", dict, "tables, one for each release: [release.visits_public]"),
        )
        if not isinstance(given.get(name, kind()), kind)
    ]
    if not given.get("database") or not given.get("release"):
        wrong.append("a database and at least one [release.NAME] are required")
    if given.get("fail_on", LEVELS[0]) not in LEVELS:
        wrong.append(f"fail_on must be one of {', '.join(LEVELS)}")
    if wrong:
        raise InvalidParameter(f"in {echoed(path)}: {'; '.join(wrong)}")
    folder = place.resolve().parent
    return Publications(
        database=str(folder / given["database"]),
        attached=tuple(
            f"{name}={where if ':' in str(where) else folder / str(where)}"
            for name, where in given.get("attach", {}).items()
        ),
        scripts=tuple(str(folder / str(each)) for each in given.get("init", [])),
        fail_on=given.get("fail_on", LEVELS[0]),
        releases=tuple(
            _planned(name, each, folder, path) for name, each in given["release"].items()
        ),
    )


def _planned(release: str, given: Any, folder: Path, path: str) -> Planned:
    of = f"[release.{release}] of {echoed(path)}"
    if not isinstance(given, Mapping) or not isinstance(given.get("method"), str):
        raise InvalidParameter(
            f"{of} names no method",
            hint=f"write method = '…', one of {', '.join(METHODS)}",
        )
    method = METHODS.named(given["method"])
    known = arguments_of(method)
    _known(given, [*OWN, *known], of)
    arguments = {name: value for name, value in given.items() if name not in OWN}
    method.read({**arguments, "release": release})
    export = given.get("export")
    if export is not None:
        export = {"path": export} if isinstance(export, str) else export
        if not isinstance(export, Mapping):
            raise InvalidParameter(f"export in {of} must be a path or a table")
        _known(
            export,
            [name for name in specs(ExportArguments) if name != "release"],
            f"export in {of}",
        )
        for name in ("path", "key_file"):
            if isinstance(export.get(name), str):
                export = {**export, name: str(folder / export[name])}
        read({**export, "release": release}, ExportArguments, of="export")
    return Planned(release, method, arguments, export)


def _known(given: Mapping[str, Any], known: Any, of: str) -> None:
    for name in given:
        if name not in known:
            raise UnknownName.among("key", name, known, of=of)


def arguments_of(method: Method) -> dict[str, Any]:
    """Return the arguments that can be declared for a method, with their defaults."""
    request = SensitiveRequest if method.sensitive else Request
    return {
        name: None if default is MISSING else default
        for name, (_, default) in (specs(request) | specs(method.arguments)).items()
        if name not in OF_ONE_CALL
    }


def stated(
    method: Method, arguments: Mapping[str, Any], export: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the declared values that differ from their defaults. A name and a list of this one name are equal."""
    usual = arguments_of(method)
    found = {"method": method.name} | {
        name: plain
        for name in usual
        if (plain := _plain(arguments.get(name))) not in (None, _plain(usual[name]))
    }
    exported = {
        name: plain
        for name, (_, default) in specs(ExportArguments).items()
        if export
        and name != "release"
        and (plain := _plain(export.get(name))) not in (None, _plain(default))
    }
    return found | ({"export": exported} if exported else {})


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return value[0] if len(value) == 1 and isinstance(value[0], str) else list(value) or None
    return value


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Write the differences between two declarations as lines of a diff.

    >>> print("\\n".join(changes({"epsilon": 1.0, "person": "nbr"}, {"epsilon": 2.0, "person": "nbr"})))
    - epsilon = 1.0
    + epsilon = 2.0
    """
    lines = []
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            lines += [
                f"{sign} {name} = {toml(side[name])}"
                for sign, side in (("-", before), ("+", after))
                if name in side
            ]
    return lines


def written(database: str, releases: Mapping[str, Mapping[str, Any]]) -> str:
    """Write a file of publications.

    >>> print(written("h.duckdb", {"out": {"source": "t", "domain": ["a", None]}}))
    database = "h.duckdb"
    <BLANKLINE>
    [release.out]
    source = "t"
    domain = ["a", {null = true}]
    <BLANKLINE>
    """
    return "\n".join([f"database = {toml(database)}", "", *_tables(releases)])


def _tables(releases: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for release, declared in releases.items():
        yield f"[release.{_key(release)}]"
        for name, value in declared.items():
            yield f"{_key(name)} = {toml(value)}"
        yield ""


def toml(value: Any) -> str:
    """Write a value as TOML."""
    if value is None:
        return "{null = true}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else toml(name)


def _with_nothing(value: Any) -> Any:
    if value == NOTHING:
        return None
    if isinstance(value, dict):
        return {name: _with_nothing(each) for name, each in value.items()}
    return [_with_nothing(each) for each in value] if isinstance(value, list) else value

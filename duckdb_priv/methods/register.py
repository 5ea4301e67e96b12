"""The register of methods: the name, arguments and properties of each.

A method is a folder. Its ``__init__.py`` has the record ``METHOD``, and ``arguments`` has its arguments. The modules
``plan``, ``audit`` and ``advise`` are imported when they are first used. Code that needs a property of a mechanism
reads it from the record; no code compares the name of a mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.release.arguments import Arguments, read
from duckdb_priv.release.request import Request, SensitiveRequest


@dataclass(frozen=True)
class Words:
    """A short description of a method; ``README.md`` beside the record has more."""

    title: str
    promise: str
    """A sentence without its full stop that says what is published; it begins with Publish."""
    when: str
    """A sentence that says when to use the method."""


@dataclass(frozen=True)
class Protection:
    """The privacy unit, neighbouring relation and adversary of a method, as in the table of ``docs/promises.md``."""

    unit: str = "one sensitive value of one record"
    """The privacy unit: what the epsilon, or another promise, is about."""
    neighbours: str = "one sensitive value of one record differs"
    """How two neighbouring tables differ; empty if the promise compares no tables."""
    against: str = "anyone with any knowledge, and all our files"


@dataclass(frozen=True)
class Refreshing:
    """How the next version of a release is published from a changed source."""

    reported: str
    """A sentence without its full stop that says what someone learns by comparing two versions."""
    given: Mapping[str, Any] = field(default_factory=lambda: {"replace": True}, hash=False)
    """Arguments of a refresh, besides those of the first publication."""
    keeps: bool = True
    """Whether unchanged records show the same values again, which needs the same random bits."""
    remembers: bool = False
    """Whether published values are stored, so that the module ``follow`` plans the next version from them."""
    waits: str = ""
    """How long new records wait that cannot be published yet; empty if none wait."""
    batch: Callable[[Any], int] | None = None
    """Function of the arguments that returns the fewest new records that can be added; None if there is no limit."""
    charged: bool = False
    """Whether the ledger charges every version in full, so that a budget must limit the versions."""
    refused: str = ""
    """Why a release cannot be refreshed, and what to do instead; empty if it can be."""


KEYED = Refreshing(
    "a record that shows another value has changed, with certainty; all others show what they showed"
)
"""The refresh of methods that perturb each record independently, with random bits keyed by its id and value."""


def _load(method: Method, module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(f"{method.package}.{module}"), name)
    return found


def _function(module: str, name: str) -> property:
    """Return the property of a method that is a function in a module of its folder."""
    return property(lambda method: _load(method, module, name))


@dataclass(frozen=True)
class Method:
    """A method of publishing."""

    name: str
    """The name in ``priv.publish_<name>`` and in the catalog."""
    package: str
    """The Python package of its folder."""
    words: Words
    arguments: type[Arguments]
    """Its arguments, besides those of every publication."""
    protection: Protection | None = Protection()
    """What it protects; None for a baseline that promises nothing."""
    grid: type[Arguments] | None = None
    """Arguments of ``priv.advise`` with the parameters to try; None if advice leaves the method out."""
    answers: bool = False
    """Whether advice compares it for stated questions, which needs a known operator."""
    sensitive: bool = True
    """Whether single columns are sensitive; otherwise every column is treated in the same way."""
    whole_records: bool = False
    """Whether it hides the presence of a record: its epsilon is for a whole record, not for a value."""
    jointly: bool = False
    """Whether epsilon and delta hold for all sensitive values of a record together, not for each value."""
    advised_alone: bool = False
    """Whether advice needs a single sensitive column: the method takes one, or its noise depends on their number."""
    afresh: bool = False
    """Whether all records are redrawn if any of them changed, so that comparing releases shows no single change."""
    once: str = ""
    """For methods that group records: what a second grouping of the same records reveals. Empty for all others."""
    refreshing: Refreshing = KEYED
    """How its releases follow a changing source."""
    derives: str = ""
    """The mechanism of coarser releases that are derived from its releases; empty if none can be derived."""
    procedures: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Further functions that SQL may call, each with the module of the folder that defines it."""
    symbols: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    """Symbols and meanings of its parameters, if they differ from those of other methods."""

    @property
    def groups(self) -> bool:
        """Whether the published value of a record depends on the other records of its group."""
        return bool(self.once)

    @property
    def baseline(self) -> bool:
        """Whether it is for comparison only, and protects less than it seems to."""
        return self.protection is None

    @property
    def comment(self) -> str:
        """The comment of its macro."""
        return f"{self.words.promise}{': a baseline' if self.baseline else ''}."

    plan = _function("plan", "plan")
    """Plans a publication, from a workspace, a source, a release and arguments."""
    audit = _function("audit", "audit")
    """Recomputes the claims of a release, from a subject."""
    options = _function("advise", "options")
    """Yields options with their expected errors, from a question and a grid."""
    answering = _function("advise", "answering")
    """Yields its options for stated questions, from a workspace and the questions."""
    follow = _function("follow", "plan")
    """Plans the next version from stored published values; arguments are as for ``plan``."""
    waiting = _function("follow", "waiting")
    """Counts waiting records, or returns None if the next version differs from the current one; as for ``plan``."""
    entered = _function("follow", "entered")
    """Returns SQL for the ids of the records that a release counts, from a workspace, a source and a release."""

    def procedure(self, name: str) -> Callable[..., list[dict[str, Any]]]:
        """Return a function of ``procedures`` by its name."""
        found: Callable[..., Any] = _load(self, self.procedures[name], name)
        return found

    def read(self, given: Mapping[str, Any]) -> tuple[Request, Any]:
        """Read the arguments of a publication; raises InvalidParameter with all mistakes in one message."""
        request = SensitiveRequest if self.sensitive else Request
        found: tuple[Request, Any] = read(given, request, self.arguments, of=f"publish_{self.name}")
        return found


class Register(Mapping[str, Method]):
    """Methods by name, in the order of the documentation. Packages are imported at the first access."""

    def __init__(self, *packages: str) -> None:
        self._packages = packages
        self._methods: dict[str, Method] | None = None

    def _loaded(self) -> dict[str, Method]:
        if self._methods is None:
            found = [import_module(package).METHOD for package in self._packages]
            self._methods = {method.name: method for method in found}
        return self._methods

    def add(self, method: Method) -> None:
        """Register a further method; raises InvalidParameter if the name is taken."""
        if method.name in self._loaded():
            raise InvalidParameter(
                f"a method {method.name!r} is already registered", hint="choose another name"
            )
        self._loaded()[method.name] = method

    def remove(self, name: str) -> None:
        """Remove a registered method."""
        del self._loaded()[name]

    def named(self, name: str) -> Method:
        """Return a method by its name; raises UnknownName with the most similar names."""
        if name not in self:
            raise UnknownName.among("method", name, self)
        return self[name]

    def __getitem__(self, name: str) -> Method:
        return self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())


METHODS = Register(
    "duckdb_priv.methods.uniform",
    "duckdb_priv.methods.block_design",
    "duckdb_priv.methods.fine_grain",
    "duckdb_priv.methods.matrix",
    "duckdb_priv.methods.for_questions",
    "duckdb_priv.methods.reconstruction_private",
    "duckdb_priv.methods.shuffled",
    "duckdb_priv.methods.splu",
    "duckdb_priv.methods.safe_k",
    "duckdb_priv.methods.anatomy",
    "duckdb_priv.methods.distribution",
)

"""The one register of methods: what each is called, what it takes, and what it is like.

A method is a folder: the record in ``__init__.py``, what it takes in ``arguments``, and the modules ``plan``, ``audit``
and ``advise``, which are loaded when they are first used. Code that needs a property of a mechanism asks its
record; no code asks for a mechanism by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from duckdb_priv.engine.plan import Plan
from duckdb_priv.errors import InvalidParameter, UnknownName
from duckdb_priv.release.arguments import Arguments, read
from duckdb_priv.release.request import Request, SensitiveRequest


@dataclass(frozen=True)
class Words:
    """A method in a few words; its page, ``README.md`` beside the record, has more."""

    title: str
    """What it is called."""
    promise: str
    """What is published, in one sentence without its full stop; it begins with Publish."""
    when: str
    """When to use it, in one sentence."""


@dataclass(frozen=True)
class Protection:
    """What a method protects and against whom; ``docs/promises.md`` says the same in its table."""

    unit: str = "one sensitive value of one record"
    """What an epsilon, or another promise, is of."""
    neighbours: str = "one sensitive value of one record differs"
    """Two tables that differ by so much are neighbours; empty where nothing is compared."""
    against: str = "anyone with any knowledge, and all our files"


@dataclass(frozen=True)
class Refreshing:
    """How the next version of a release is published from a source that has changed."""

    reported: str
    """What someone who compares two versions learns, in one sentence without its full stop."""
    given: Mapping[str, Any] = field(default_factory=lambda: {"replace": True}, hash=False)
    """Arguments of a refresh, beside those with which the release was declared."""
    keeps: bool = True
    """Whether records that did not change show what they showed, which needs the same bits."""
    remembers: bool = False
    """Whether what records show is kept, so that the next version is planned from it, by the module ``follow``."""
    waits: str = ""
    """Until when new records wait that find no place in the version, where they do."""
    batch: Callable[[Any], int] | None = None
    """Where new records join a release whose other rows stay: how many there must be, from what the method is given."""
    charged: bool = False
    """Whether every version is charged whole, so that there must be a budget that ends it."""
    refused: str = ""
    """Why it cannot be refreshed, and what to do, where it cannot."""


KEYED = Refreshing(
    "a record that shows another value has changed, with certainty; all others show what they showed"
)
"""Each record is perturbed by itself, and its bits are keyed by its id and its value."""


@dataclass(frozen=True)
class Method:
    """A way to publish."""

    name: str
    """As in ``priv.publish_<name>``, and as the catalog calls the mechanism."""
    package: str
    """The folder with its modules, as Python imports it."""
    words: Words
    arguments: type[Arguments]
    """What it takes beside what every publication takes."""
    protection: Protection | None = Protection()
    """What it protects; None for a baseline that promises nothing."""
    grid: type[Arguments] | None = None
    """What advice tries of it, as ``priv.advise`` takes it; None where it is not advised."""
    answers: bool = False
    """Whether advice compares it for stated questions: what records show is drawn by a known operator."""
    sensitive: bool = True
    """Whether single columns are sensitive; otherwise every column is treated in the same way."""
    whole_records: bool = False
    """Whether it hides that a record is there at all: its epsilon is that of a whole record, not of a value."""
    jointly: bool = False
    """Whether its epsilon and delta are promised for all sensitive values of a record together, not for each."""
    advised_alone: bool = False
    """Whether advice is for one sensitive column: it takes no more, or its noise depends on how many there are."""
    groups: bool = False
    """Whether what a record shows depends on the records that it is grouped with, and not on itself alone."""
    afresh: bool = False
    """Whether all records are redrawn if any of them changed, so that comparing releases shows no change."""
    once: str = ""
    """Where it groups: what a second grouping of the same records does."""
    refreshing: Refreshing = KEYED
    """How its releases follow a source that changes."""
    derives: str = ""
    """The mechanism of coarser releases that are made from what its releases show; empty where none can be."""
    baseline: bool = False
    """Whether it is for comparison only, and protects less than it seems to."""
    procedures: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Functions that SQL may call beside publishing, and the module of the folder that each is in."""
    symbols: Mapping[str, tuple[str, str]] = field(default_factory=dict, hash=False)
    """What its parameters are called in the papers, and what they mean, where that is not as for other methods."""

    @property
    def comment(self) -> str:
        """What its macro says of itself."""
        return f"{self.words.promise}{': a baseline' if self.baseline else ''}."

    @property
    def plan(self) -> Callable[..., Plan]:
        """What decides everything before one row is written, from a workspace, a source, a release and arguments."""
        return self._function("plan", "plan")

    @property
    def audit(self) -> Callable[..., list[dict[str, Any]]]:
        """What recomputes the claims of a release, from a subject."""
        return self._function("audit", "audit")

    @property
    def options(self) -> Callable[..., Iterable[Any]]:
        """What says what to expect of it, from a question and a grid."""
        return self._function("advise", "options")

    @property
    def answering(self) -> Callable[..., Iterable[Any]]:
        """What says how it answers stated questions, from a workspace, a column and what is asked."""
        return self._function("advise", "answering")

    @property
    def coarser(self) -> Callable[..., Any]:
        """What draws a coarser release of an attribute, from the attribute, a name, and how coarse it must be."""
        return self._function("derive", "coarser")

    @property
    def follow(self) -> Callable[..., Plan]:
        """What decides the next version of a release from what its records showed, given as to ``plan``."""
        return self._function("follow", "plan")

    @property
    def waiting(self) -> Callable[..., int | None]:
        """What counts the records that wait, if the next version would be the current one; given as above."""
        return self._function("follow", "waiting")

    @property
    def entered(self) -> Callable[..., str]:
        """What writes the query of the ids of the records that a remembered release counts.

        It is given a workspace, a source and a release.
        """
        return self._function("follow", "entered")

    def procedure(self, name: str) -> Callable[..., list[dict[str, Any]]]:
        """Return one of the further procedures."""
        return self._function(self.procedures[name], name)

    def _function(self, module: str, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"{self.package}.{module}"), name)
        return found

    def read(self, given: Mapping[str, Any]) -> tuple[Request, Any]:
        """Read what a publication is given; raises InvalidParameter that tells everything that is wrong with it."""
        request = SensitiveRequest if self.sensitive else Request
        found: tuple[Request, Any] = read(given, request, self.arguments, of=f"publish_{self.name}")
        return found


class Register(Mapping[str, Method]):
    """Methods by name, in the order in which they are offered; packages are imported at the first look."""

    def __init__(self, *packages: str) -> None:
        self._packages = packages
        self._methods: dict[str, Method] | None = None

    def _loaded(self) -> dict[str, Method]:
        if self._methods is None:
            found = [import_module(package).METHOD for package in self._packages]
            self._methods = {method.name: method for method in found}
        return self._methods

    def add(self, method: Method) -> None:
        """Add a method of one's own; raises InvalidParameter where the name is taken."""
        if method.name in self._loaded():
            raise InvalidParameter(
                f"a method {method.name!r} is registered", hint="choose another name"
            )
        self._loaded()[method.name] = method

    def remove(self, name: str) -> None:
        """Remove a method again."""
        del self._loaded()[name]

    def named(self, name: str) -> Method:
        """Return a method by its name; raises UnknownName, which names the nearest."""
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

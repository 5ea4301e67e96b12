"""The request of a publication: its source, its name, and the roles of columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.release.arguments import (
    COLUMNS,
    FLAG,
    NAME,
    TABLE,
    TEXT,
    UNSEEN,
    Arguments,
    argument,
    whole,
)

POPULATION = "main"
"""The default population of a database."""
WORDS = ("title", "description", "contact", "licence")
"""The publisher's texts for readers."""
INTEGER = re.compile(r"^(U?(TINY|SMALL)INT|U?INTEGER|BIGINT)$")
"""Types of ids that key the noise as numbers; ids of other types do so as texts."""
HIDDEN = {"record_id", "exclude", "person"}
"""Roles of unpublished columns; a column may have several of them."""


def population_argument() -> Any:
    """Return the argument that names the population."""
    return argument(
        NAME,
        "the people that it is about: within a population an id means one person, and everything adds up",
        "'patients'",
        default=POPULATION,
    )


@dataclass(frozen=True)
class Roles:
    """The roles of a table's columns."""

    sensitive: tuple[str, ...] = ()
    """Columns to perturb, or to count."""
    record_id: tuple[str, ...] = ()
    """Columns that identify records and key their noise; never published."""
    exclude: tuple[str, ...] = ()
    """Columns left out of the release."""
    public: tuple[str, ...] | None = None
    """Columns published without noise; None for all columns without another role."""
    person: tuple[str, ...] = ()
    """Columns that identify the person of a record; never published."""

    def __post_init__(self) -> None:
        roles: dict[str, str] = {}
        for role, names in vars(self).items():
            for name in names or ():
                known = roles.setdefault(name.lower(), role)
                if known != role and not {known, role} <= HIDDEN:
                    raise InvalidParameter(
                        f"column {name!r} is both {known} and {role}", hint="a column has one role"
                    )
            if names and len({name.lower() for name in names}) < len(names):
                raise InvalidParameter(f"{role} names a column twice", hint="name it once")


@dataclass(frozen=True, kw_only=True)
class ReleaseName(Arguments):
    """The name of an existing release."""

    release: str = argument(NAME, "the name of a release", "'visits_public'")


@dataclass(frozen=True, kw_only=True)
class Request(Arguments):
    """The arguments of every ``publish_…``, for all methods."""

    source: str = argument(NAME, "the table or view to publish", "'visits'")
    release: str = argument(NAME, "the name of what is published", "'visits_public'")
    record_id: tuple[str, ...] = argument(
        COLUMNS, "the column that tells records apart, or a list of them", "'id'", default=()
    )
    population: str = population_argument()
    exclude: tuple[str, ...] = argument(
        COLUMNS, "the columns that are not published", "['name', 'phone']", default=()
    )
    public: tuple[str, ...] | None = argument(
        COLUMNS,
        "the columns that are published as they are; what is not named is left out",
        "['age', 'gender']",
        default=None,
    )
    person: tuple[str, ...] = argument(
        COLUMNS,
        "the column that tells whose record it is, or a list of them",
        "'patient_nbr'",
        default=(),
    )
    max_rows: int | None = argument(
        whole(1), "the most records of one person that are published", "3", default=None
    )
    title: str | None = argument(TEXT, "what the release is called", "'Visits'", default=None)
    description: str | None = argument(
        TEXT, "what its readers should know", "'One row per visit'", default=None
    )
    contact: str | None = argument(
        TEXT, "whom they may ask", "'statistics@example.org'", default=None
    )
    licence: str | None = argument(
        TEXT, "what its readers may do with it", "'CC BY 4.0'", default=None
    )
    labels: str | None = argument(
        TABLE,
        "the table that says what codes mean, with the columns attribute, value and label",
        "'code_book'",
        default=None,
    )
    republish: bool = argument(
        FLAG,
        "whether to publish what the ledger refuses of people who were published already, and charge it",
        "true",
        default=False,
    )
    replace: bool = argument(
        FLAG, "whether a release of this name may be replaced", "true", default=False
    )

    def __post_init__(self) -> None:
        if "." in self.release or not self.release.strip():
            raise InvalidParameter(
                f"a release cannot be called {echoed(self.release)}",
                hint="a name without dot, such as 'patients_2026': the dot separates release and attribute",
            )
        for name in WORDS:
            text = getattr(self, name) or ""
            if UNSEEN.search(text.replace("\n", "") if name == "description" else text):
                raise InvalidParameter(
                    f"{name} holds a control character, a line break or an invisible mark, such as one that turns the"
                    " direction of text",
                    hint="write it as one line of visible characters",
                )
        if self.max_rows is not None and not (self.person and self.record_id):
            raise InvalidParameter(
                "max_rows chooses among the records of a person by their ids, which needs person and record_id",
                hint="write person := 'patient_nbr', record_id := 'visit_id', max_rows := 3",
            )
        _ = self.roles

    @property
    def roles(self) -> Roles:
        """The roles of the columns; raises InvalidParameter if a column has two roles."""
        return Roles((), self.record_id, self.exclude, self.public, self.person)


@dataclass(frozen=True, kw_only=True)
class SensitiveRequest(Request):
    """The arguments of methods with sensitive columns."""

    sensitive: tuple[str, ...] = argument(
        COLUMNS,
        "the column whose values are protected, or a list of them",
        "'disease'",
        missing="no sensitive column is named",
    )

    @property
    def roles(self) -> Roles:
        """The roles of the columns; raises InvalidParameter if a column has two roles."""
        return Roles(self.sensitive, self.record_id, self.exclude, self.public, self.person)

"""Populations: within a population, an id always means the same person."""

from __future__ import annotations

from duckdb_priv.errors import InvalidParameter, UnknownName, echoed
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.release.catalog import Connection
from duckdb_priv.release.request import INTEGER, POPULATION
from duckdb_priv.sqltext.templates import section


def find_population(connection: Connection, name: str) -> str:
    """Return the name of a known population or of the default one; raises UnknownName for any other.

    A population is known if it has a publication, a noisy count, a withdrawal or a budget.
    """
    rows = connection.execute(section("ledger", "populations")).fetchall()
    known = list(dict.fromkeys([POPULATION, *(each for (each,) in rows)]))
    if name in known:
        return name
    raise UnknownName.among(
        "population",
        name,
        known,
        also=f"there are {', '.join(map(echoed, known))}; another one begins with its first publication",
    )


def refuse_other(connection: Connection, release: str, population: str) -> None:
    """Refuse to replace a release by one of another population: its versions could be neither compared nor added up.

    Raises InvalidParameter.
    """
    if (before := last_of(connection, release).population) != population:
        raise InvalidParameter(
            f"release {release!r} is of population {before!r}, and not of {population!r}",
            hint=f"write population := {before!r}, or choose another name for the release",
        )


def refuse_other_types(
    connection: Connection, population: str, record_id: tuple[str, ...], types: tuple[str, ...]
) -> None:
    """Refuse ids whose type differs from earlier ids of the population: 7 and '7' are different ids.

    Raises InvalidParameter.
    """
    ((before,),) = connection.execute(
        section("ledger", "id_types"), [population, [name.lower() for name in record_id]]
    ).fetchall()
    if before is None or not record_id:
        return
    texts = [[INTEGER.match(kind) is None for kind in kinds] for kinds in (before, types)]
    if texts[0] != texts[1]:
        raise InvalidParameter(
            f"record id {' and '.join(map(repr, record_id))} is {' and '.join(types)}, and population {population!r}"
            f" has it as {' and '.join(before)}: 7 and '7' are two ids",
            hint="cast it in a view, and publish the view; if these are other people, name another population",
        )

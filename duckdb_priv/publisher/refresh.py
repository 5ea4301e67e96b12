"""Publishes the next version of a release from its current source, and exports it where the last one was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from duckdb_priv.engine.marking import mark_records
from duckdb_priv.engine.procedures import committed, undone
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Caller, Workspace
from duckdb_priv.errors import GuaranteeViolated, PrivError, PublicationFailed, how_many, one_line
from duckdb_priv.ledger.budget import limit_of
from duckdb_priv.ledger.entries import last_of
from duckdb_priv.ledger.marks import Moved, moved
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher import declared
from duckdb_priv.publisher.declared import Declared
from duckdb_priv.publisher.derivation import DERIVED, derive, version_of_finer
from duckdb_priv.publisher.publish import publish
from duckdb_priv.publisher.records import digest_of, open_records
from duckdb_priv.publisher.versions import Succession, succeed
from duckdb_priv.release import catalog
from duckdb_priv.release.arguments import read
from duckdb_priv.release.request import ReleaseName
from duckdb_priv.sqltext.reading import named_rows
from duckdb_priv.sqltext.templates import section

NOTHING = Moved(0, 0, 0)
CURRENT, DUE, WAITING, REFUSED = "current", "due", "waiting", "refused"
"""States of a release: CURRENT; DUE if a refresh is advised; WAITING if too few new records have arrived; REFUSED if it
cannot be refreshed."""


def refresh(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Publish the next version of a release if its source has changed, and export it if the last one was exported.

    Raises PublicationFailed if its declaration is missing, and GuaranteeViolated if its method or its noise allows no
    next version.
    """
    (arguments,) = read(given, ReleaseName, of="refresh")
    release = catalog.find_release(workspace.cursor, arguments.release)
    stated = declared.require(workspace.cursor, release)
    declared.refuse_other_engine(stated, spark=False)
    if stated.mechanism == DERIVED:
        return [exported(workspace, _rederived(workspace, stated))]
    workspace.schemas = stated.schemas
    source = _records(workspace, stated)
    follows = succeed(workspace, stated.release)
    row = unchanged(workspace, stated, follows, source, digest_of(workspace, source))
    if row is None:
        given = arguments_of_next(stated, follows)
        (receipt,) = publish(follows.method, workspace, given, follows)
        row = published(workspace, follows, receipt)
    return [exported(workspace, row)]


def unchanged(
    workspace: Workspace, stated: Declared, follows: Succession, source: Source, digest: str
) -> dict[str, Any] | None:
    """Return a receipt that says why the current version stays; None if the next one must be published.

    Raises GuaranteeViolated if the method or the noise allows no next version.
    """
    if digest == stated.digest:
        return _nothing(workspace, stated)
    _require_columns(workspace, follows, source)
    found = _moved(workspace, follows, source) if follows.method.refreshing.remembers else None
    if waiting := _waiting(workspace, stated, follows, source, found):
        return waiting
    if refused := follows.method.refreshing.refused:
        raise GuaranteeViolated(
            f"{stated.release!r} cannot be refreshed: {refused}",
            hint="publish it once more with replace := true and what that costs, if that must be",
        )
    _require_end(workspace, follows, source)
    return None


def arguments_of_next(stated: Declared, follows: Succession) -> dict[str, Any]:
    """Return the arguments of the next version."""
    more = {} if follows.remembered else follows.method.refreshing.given
    return {**stated.arguments, "release": stated.release, **more}


def exported(workspace: Workspace, row: dict[str, Any]) -> dict[str, Any]:
    """Schedule the export after the commit if the last version was exported, and return the completed row."""
    stated = declared.require(workspace.cursor, row["release"])
    row |= {"path": stated.path, "exported": False if stated.behind else None}
    if stated.behind:
        workspace.on_commit.append(lambda: _export(workspace, stated, row))
    return row


def _rederived(workspace: Workspace, stated: Declared) -> dict[str, Any]:
    """Derive a coarser release again if the finer one has a new version."""
    if version_of_finer(workspace, stated.source) == stated.digest:
        return _nothing(workspace, stated)
    asked = {name: value for name, value in stated.arguments.items() if name != "source"}
    derive(
        workspace,
        {**asked, "release": stated.source, "coarser": stated.release, "replace": True},
    )
    statement = f"It was made again from {stated.source!r}, and reveals nothing that this does not."
    return _receipt(workspace, stated.release, None, statement)


def _records(workspace: Workspace, stated: Declared) -> Source:
    """Return the records to publish."""
    request, _ = METHODS[stated.mechanism].read({**stated.arguments, "release": stated.release})
    return open_records(workspace, request)[1]


def _require_columns(workspace: Workspace, follows: Succession, source: Source) -> None:
    """Refuse a source with a new public or sensitive column, or without one that the last version published."""
    if not follows.method.sensitive:
        return
    before = {
        column.attribute.lower(): column.attribute
        for column in catalog.published_columns(workspace.cursor, follows.release)
        if column.role in ("public", "sensitive")
    }
    now = {name.lower(): name for name in (*source.public, *source.sensitive)}
    came = [name for key, name in now.items() if key not in before]
    left = [name for key, name in before.items() if key not in now]
    reported = [
        f"{' and '.join(map(repr, names))} {what}"
        for names, what in ((came, "would be published for the first time"), (left, "is not there"))
        if names
    ]
    if reported:
        raise PublicationFailed(
            f"{source.name!r} has other columns than when {follows.release!r} was published: {', '.join(reported)}",
            hint="exclude what is new in a view, or publish once more with replace := true: with exclude := […] or"
            " public := […] it costs nothing where every record is drawn for itself",
        )


def _require_end(workspace: Workspace, follows: Succession, source: Source) -> None:
    """Refuse a method that charges every version, unless a budget limits the total."""
    if follows.method.refreshing.charged and not limit_of(workspace.cursor, source.population):
        raise GuaranteeViolated(
            f"every version of {follows.release!r} is charged whole, and no budget says when to stop",
            hint="state one first: FROM priv.budget(population, epsilon := …, delta := …)",
        )


def _moved(workspace: Workspace, follows: Succession, source: Source) -> Moved | None:
    """Return how many records changed since the release was published; None without comparable ids."""
    marked = mark_records(workspace, source)
    return moved(workspace.cursor, marked, follows.last.publication, follows.last.level)


def _waiting(
    workspace: Workspace,
    stated: Declared,
    follows: Succession,
    source: Source,
    found: Moved | None,
) -> dict[str, Any] | None:
    """Return a receipt if too few new records wait to join a release; None otherwise.

    ``found`` counts the records that changed. Raises GuaranteeViolated if other records left or changed and their
    published values were not stored.
    """
    refreshing = follows.method.refreshing
    batch = refreshing.batch
    if not refreshing.remembers:
        return None
    assert found is not None
    _, arguments = follows.method.read({**stated.arguments, "release": stated.release})
    if follows.remembered:
        waiting = follows.method.waiting(workspace, source, stated.release, arguments)
        if not waiting:
            return None if waiting is None else _nothing(workspace, stated)
        reported = (
            _wait(waiting, "new record", refreshing.waits)
            if batch is None
            else _waiting_sentence(waiting, batch(arguments))
        )
        return _receipt(workspace, stated.release, replace(found, arrived=waiting), reported)
    if batch is None or found.gone or found.changed:
        raise GuaranteeViolated(
            f"{found.gone:,} records of {stated.release!r} are gone and {found.changed:,} have other values, and which"
            " rows are theirs is not known: what records show was not kept when it was published, since the source was"
            " too large for that, the method is a baseline, or duckdb_priv was an older one",
            hint="publish it once more with republish := true, replace := true and what that costs",
        )
    fewest = batch(arguments)
    if found.arrived >= fewest:
        return None
    reported = _waiting_sentence(found.arrived, fewest)
    return _receipt(workspace, stated.release, found, reported)


def _waiting_sentence(records: int, fewest: int) -> str:
    until = f"until there are {fewest:,} of them, of values such that they fill groups"
    return _wait(records, "new record", f"{until}: fewer would be known by being new")


def _wait(records: int, what: str, until: str) -> str:
    return f"{how_many(records, what)} {'waits' if records == 1 else 'wait'} {until}."


def _nothing(workspace: Workspace, stated: Declared) -> dict[str, Any]:
    """Return the receipt of a refresh of an unchanged source."""
    reported = f"Nothing has changed since version {stated.version}, so nothing was published."
    return _receipt(workspace, stated.release, NOTHING, reported)


def _receipt(
    workspace: Workspace,
    release: str,
    found: Moved | None,
    statement: str,
    *,
    adds: bool = False,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the receipt of a refresh; ``found`` counts the records that changed."""
    row = catalog.release_row(workspace.cursor, release)
    return {
        **(_counts(found) if found else {}),
        "release": release,
        "version": row["version"],
        "rows_published": row["rows_published"],
        "adds": adds,
        "epsilon": catalog.spent(workspace.cursor, release),
        "statement": statement,
        "warnings": list(warnings),
    }


def published(
    workspace: Workspace, follows: Succession, receipt: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the receipt, with what a comparison with the previous version reveals."""
    found, release = follows.moved, receipt["release"]
    reported = f"Someone with both versions sees this: {follows.method.refreshing.reported}."
    if found is not None:
        about = "about " if found.level else ""
        reported = (
            f"Since the version before, {about}{how_many(found.arrived, 'record')} came, {found.gone:,} left and"
            f" {found.changed:,} {'has another value' if found.changed == 1 else 'have other values'}. {reported}"
        )
    if follows.waiting:
        reported += " " + _wait(follows.waiting, "record", follows.method.refreshing.waits)
    adds = any(each["adds"] for each in last_of(workspace.cursor, release).entries)
    return _receipt(workspace, release, found, reported, adds=adds, warnings=receipt["warnings"])


def _counts(found: Moved) -> dict[str, int]:
    return {
        "new_records": found.arrived,
        "gone_records": found.gone,
        "changed_records": found.changed,
    }


def _export(workspace: Workspace, stated: Declared, row: dict[str, Any]) -> None:
    """Export the committed version; a failure is reported and undoes nothing."""
    try:
        with committed(_caller(workspace, stated)) as other:
            workspace.instance.find("export_release")(
                other,
                {**(stated.export or {}), "release": stated.release},
            )
    except PrivError as error:
        row["warnings"] = [
            *row["warnings"],
            f"version {row['version']} is in the database, but was not exported: {error}",
        ]
    else:
        row["exported"] = True


def _caller(workspace: Workspace, stated: Declared) -> Caller:
    """Return the caller of a release's publication, whose schemas count, in this database and time zone."""
    return Caller(workspace.instance, workspace.database, stated.schemas, workspace.zone)


def publications(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the releases, and how many records of their sources changed since publication."""
    read(given, of="publications")
    query = section("publishing", "publications")
    listed = named_rows(workspace.cursor, query, [catalog.now()])
    known = {each.release: each for each in declared.all_declared(workspace.cursor)}
    found = []
    for row in listed:
        stated = known.get(row["release"])
        state, advice, moved = _state(workspace, stated, row["release"])
        export = stated.export if stated and stated.export else {}
        found.append(
            {
                **row,
                **(_counts(moved) if moved else {}),
                "state": state,
                "advised": state == DUE,
                "advice": advice,
                "path": export.get("path"),
                "format": export.get("format"),
                "exported": stated.exported if stated else None,
            }
        )
    return found


def _state(
    workspace: Workspace, stated: Declared | None, release: str
) -> tuple[str, str, Moved | None]:
    """Return the state of a release, the reason, and how many records changed."""
    try:
        stated = stated or declared.require(workspace.cursor, release)
        declared.refuse_other_engine(stated, spark=False)
        # A DuckDB error would abort the transaction, and the checks of later releases with it.
        with undone(_caller(workspace, stated)) as other:
            if stated.mechanism == DERIVED:
                if version_of_finer(other, stated.source) != stated.digest:
                    return DUE, f"{stated.source!r} has another version", None
                return *_same(stated), None
            source = _records(other, stated)
            follows = succeed(other, release)
            if digest_of(other, source) == stated.digest:
                return *_same(stated), NOTHING
            _require_columns(other, follows, source)
            found = _moved(other, follows, source)
            waiting = _waiting(other, stated, follows, source, found)
            _require_end(other, follows, source)
    except PrivError as error:
        return REFUSED, one_line(str(error)), None
    if waiting is not None:
        return WAITING, str(waiting["statement"]), found
    if refused := METHODS[stated.mechanism].refreshing.refused:
        return REFUSED, refused, found
    return (
        DUE,
        f"someone with both versions sees this: {METHODS[stated.mechanism].refreshing.reported}",
        found,
    )


def _same(stated: Declared) -> tuple[str, str]:
    """Return the state of a release whose source is unchanged, and the reason."""
    if stated.behind:
        return DUE, f"version {stated.version} was not exported yet"
    return CURRENT, f"nothing has changed since version {stated.version}"

"""Groups of records with equal public columns and their sizes, compared byte by byte, as a reader can do.

The records of such a group hide each other. A release is sorted by its own columns, so a reader sees only the multiset
of published values in a group. Derivations: ``mechanism/shuffle.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.byte_order import byte_keys
from duckdb_priv.engine.kernel import Step
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.release.model import to_json
from duckdb_priv.sqltext.quoting import identifier, same
from duckdb_priv.sqltext.templates import section

GROUPS = "temp.main._priv_crowds"
"""The temporary table of the groups and their sizes."""


def keys_of(types: Mapping[str, str]) -> list[str]:
    """Return SQL keys that are equal for two records ``s`` only if these columns are equal byte by byte."""
    return [key for name, kind in types.items() for key in byte_keys(f"s.{identifier(name)}", kind)]


def groups_of(source: Source) -> Step:
    """Return the step that makes the table of a source's groups; ``_priv_size`` is the number of records."""
    keys = "".join(f"{key} AS _priv_key{n}, " for n, key in enumerate(_keys(source)))
    return Step(GROUPS, section("kernels", "crowds", keys=keys))


def same_group(source: Source) -> str:
    """Return the condition that a record ``s`` is in a group ``g`` of that table."""
    keys = (same(key, f"g._priv_key{n}") for n, key in enumerate(_keys(source)))
    return " AND ".join(keys) or "true"


def _keys(source: Source) -> list[str]:
    return keys_of({name: source.types[name] for name in source.public})


def sizes_of_groups(workspace: Workspace, source: Source) -> dict[int, int]:
    """Count the groups of each size, smallest first; their table then stays on the publisher's cursor."""
    return aggregates_of(workspace, source).sizes_of_groups(groups_of(source))


def require_crowds(
    workspace: Workspace, source: Source, sizes: Mapping[int, int], hint: str
) -> None:
    """Refuse public columns that are unique for every record: no record would hide another.

    Raises InvalidSource, which names the column that distinguishes most records.
    """
    if max(sizes) > 1 or source.rows == 1:
        return
    asked = aggregates_of(workspace, source)
    values, name = max((asked.distinctness([name], 1)[0], name) for name in source.public)
    raise InvalidSource(
        f"no two records have the same public columns, so no record hides another: {name!r} alone has {values} values"
        f" in {source.rows} records",
        hint=f"exclude {name!r}, or make it coarser in a view; {hint}",
    )


def digest_of_records(workspace: Workspace, source: Source, context: Mapping[str, object]) -> str:
    """Return a digest of the records; a change in any record changes it.

    It is the sum and the parity of keyed bits, so someone without the secret cannot find two tables with the same
    digest. The key belongs to one release, which ``context`` describes.
    """
    key = to_json({**context, "purpose": "records of crowds"})
    bits = randomness.KeyedBits.derive(workspace.secret(), key)
    return aggregates_of(workspace, source).digest(bits, sorted(source.read_types))

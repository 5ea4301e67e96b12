"""Records with equal public columns hide each other: their groups, the guarantee that this gives, and its audit.

A release is sorted by its own columns, so a reader sees only the multiset of published values in a group. Columns are
compared byte by byte, as a reader can do. Derivations: ``mechanism/shuffle.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of
from duckdb_priv.engine.byte_order import byte_keys, total_order
from duckdb_priv.engine.kernel import Step
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.mechanism.arrays import Vector
from duckdb_priv.mechanism.shuffle import (
    MOST_PAIRS,
    Pair,
    code_pair,
    joint_pairs,
    log_delta,
    operator_pairs,
)
from duckdb_priv.mechanism.shuffled_retention import joint_epsilon, size_class
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.methods.common.findings import TOLERANCE, AuditRow, Subject
from duckdb_priv.methods.common.operator_audit import drawn_operator, stored_code
from duckdb_priv.release.catalog import published_columns, sensitive_attributes
from duckdb_priv.release.model import Guarantee, SensitiveAttribute, to_json
from duckdb_priv.release.promise import factor
from duckdb_priv.sqltext.quoting import identifier, same
from duckdb_priv.sqltext.reading import types_of
from duckdb_priv.sqltext.templates import section

GROUPS = "temp.main._priv_crowds"
"""The temporary table of the groups and their sizes."""
DELTA = 1e-6
"""The stated delta, unless the publisher asks for another."""
SHARES = (0.5, 0.95)
"""Shares of the records for which the largest epsilon is stated, besides that of all records."""
MOST_EPSILON = 20
"""If a record's values together have a larger epsilon than this, groups hide nothing and no guarantee is stated."""
MOST_ATTRIBUTES = 3
"""With more attributes no guarantee is stated: each one doubles the ways in which two records can differ."""


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


def pairs_of(attribute: SensitiveAttribute) -> tuple[Pair, ...]:
    """Return the pairs of distributions of an attribute's true values; empty if they take too long to compute."""
    if attribute.blocks:
        return (code_pair(*stored_code(attribute, attribute.blocks)),)
    if form_of(attribute).symmetric:
        own, other = attribute.numbers["own"][0], attribute.numbers["other"][0]
        return (code_pair(Code(attribute.size), own / other),)
    kinds = None
    if "retention" in attribute.numbers:
        kinds = np.unique(attribute.numbers["retention"], return_inverse=True)[1].tolist()
    operator = drawn_operator(attribute)
    return () if operator is None else tuple(operator_pairs(operator, kinds, MOST_PAIRS))


def shuffle_guarantees(
    workspace: Workspace, source: Source, attributes: Sequence[SensitiveAttribute]
) -> list[Guarantee]:
    """Return the guarantee that records with equal public columns hide each other, if all have the same operator.

    The sensitive attributes are perturbed independently. There is no guarantee if a shown value excludes a true one
    with certainty, nor if two records can differ in too many ways to compute it.
    """
    laws = _laws(attributes)
    if not laws:
        return []
    sizes = sizes_of_groups(workspace, source)
    workspace.cursor.execute(f"DROP TABLE IF EXISTS {GROUPS}")
    found = {share: _size_of(share, sizes) for share in (*SHARES, 1.0)}
    epsilons = {
        share: joint_epsilon(laws, size_class(size), DELTA) for share, size in found.items()
    }
    half, most, worst = epsilons.values()
    together = ", and all other sensitive attributes together," if len(attributes) > 1 else ""
    return [
        Guarantee(
            "shuffle_privacy",
            "Nothing shows which of the rows with equal public columns is whose. So for someone who knows all about the"
            f" other records and sees this release alone, the odds between two true values of {each.name}{together}"
            f" change by a factor of {_in_groups(half, most, worst, found[1.0])}, except with probability delta ="
            f" {DELTA:g}.",
            value=worst,
            attribute=each.name,
            parameters={
                "delta": DELTA,
                "group_sizes": {str(share): size for share, size in found.items()},
                "epsilons": {str(share): epsilon for share, epsilon in epsilons.items()},
            },
        )
        for each in attributes
    ]


def _in_groups(half: float, most: float, worst: float, smallest: int) -> str:
    """Return the factors for half of the records, for 95% and in the smallest group; a single one if they are equal.

    >>> print(_in_groups(1.0, 1.0, 1.0, 3))
    at most 2.719 for every record (epsilon = 1)
    """
    if factor(half) == factor(worst):
        return f"{factor(worst)} for every record (epsilon = {worst:.4g})"
    return (
        f"{factor(half)} for half of the records (epsilon = {half:.4g}), {factor(most)} for 95% of them (epsilon ="
        f" {most:.4g}), and {factor(worst)} in the smallest group, of {smallest} (epsilon = {worst:.4g})"
    )


def _laws(attributes: Sequence[SensitiveAttribute]) -> tuple[tuple[Pair, ...], ...]:
    """Return the pairs of each attribute; empty if there is no joint guarantee."""
    if len(attributes) > MOST_ATTRIBUTES:
        return ()
    laws = tuple(pairs_of(each) for each in attributes)
    total = sum(max((pair.epsilon for pair in pairs), default=0.0) for pairs in laws)
    bounded = total <= MOST_EPSILON
    return laws if bounded and 0 < math.prod(map(len, laws)) <= MOST_PAIRS else ()


def _size_of(share: float, sizes: Mapping[int, int]) -> int:
    """Return the size such that this share of the records is in groups of at least that size."""
    outside = (1 - share) * sum(size * number for size, number in sizes.items())
    smaller = 0
    for size, number in sorted(sizes.items()):
        smaller += size * number
        if smaller > outside:
            return size
    return min(sizes)


def audit_shuffle(subject: Subject) -> list[AuditRow]:
    """Recompute the guarantee from the operators and the sizes of the published groups, if it was stated."""
    if "shuffle_privacy" not in subject.claims:
        return []
    worst, given = subject.claims["shuffle_privacy"]
    laws = _laws(sensitive_attributes(subject.workspace.cursor, subject.release))
    keys = "".join(f"{key}, " for key in keys_of(public_types(subject)))
    query = section("audits", "sizes", keys=keys, table=subject.table)
    sizes = dict(subject.workspace.rows(query))
    found = {
        share: joint_epsilon(laws, size_class(_size_of(float(share), sizes)), given["delta"])
        if laws
        else math.inf
        for share in given["epsilons"]
    }
    return [
        subject.finding(
            "shuffle_privacy",
            f"Among the records with the same public columns, and at delta = {given['delta']:g}: epsilon of the"
            " smallest group.",
            max(found.values()),
            all(
                found[share] <= claimed * (1 + TOLERANCE)
                for share, claimed in given["epsilons"].items()
            ),
            claimed=worst,
            epsilons=found,
        )
    ]


def public_types(subject: Subject) -> dict[str, str]:
    """Return the types of the columns that distinguish rows: all but noisy values and their scales."""
    columns = published_columns(subject.workspace.cursor, subject.release)
    other = {of.name for of in columns if of.role in ("sensitive", "scale")}
    described = types_of(subject.workspace.cursor, subject.table)
    return {name: kind for name, kind in described.items() if name not in other}


def scales_by_size(subject: Subject) -> list[tuple[int, float, float, int]]:
    """Return for each size of group: the size, the least and largest scale of its records, and their number."""
    keys = "".join(f"{key}, " for key in keys_of(public_types(subject)))
    return subject.workspace.rows(section("audits", "scales", keys=keys, table=subject.table))


def counts_by_size(subject: Subject) -> dict[int, Vector] | None:
    """Count the values of the domain in the source by the size of the group; None if the source has changed."""
    source, public = subject.source, public_types(subject)
    if source is None or not {*public} <= {*source.types}:
        return None
    keys = keys_of({name: source.types[name] for name in public})
    selected = "".join(f"{key} AS _priv_key{n}, " for n, key in enumerate(keys))
    partition = ", ".join(f"_priv_key{n}" for n in range(len(keys)))
    value = key_expression(subject.attribute.name, source.types[subject.attribute.name])
    query = section(
        "audits",
        "values_by_size",
        keys=selected,
        value=value,
        source=source.table,
        partition=f"PARTITION BY {partition}" if keys else "",
    )
    places = {each: place for place, each in enumerate(subject.attribute.values)}
    found: dict[int, Vector] = {}
    for size, each, records in subject.workspace.rows(query):
        if each not in places:
            return None
        found.setdefault(size, np.zeros(len(places)))[places[each]] += records
    return found


def worst_delta(
    codes: Iterable[Code], smallest: Mapping[float, int], epsilon: float
) -> tuple[float, int]:
    """Return the largest delta of the groups of a release, and the size of the group that has it.

    ``smallest`` has for each scale the size of the smallest group with it, which hides the least.
    """
    listed, worst = list(codes), (0.0, 0)
    for scale, size in smallest.items():
        pairs = joint_pairs([code_pair(code, 1 + 1 / scale) for code in listed])
        if size == 1:
            alone = sum(pair.epsilon for pair in pairs[:1])
            found = 0.0 if alone <= epsilon * (1 + TOLERANCE) else 1.0
        else:
            found = math.exp(max(log_delta(pair, size, epsilon, tolerance=1e-4) for pair in pairs))
        worst = max(worst, (found, size))
    return worst


def audit_order(subject: Subject) -> AuditRow:
    """Check that the rows are sorted by their own columns, so that they do not keep the order of the source."""
    types = types_of(subject.workspace.cursor, subject.table)
    query = section("audits", "misplaced", order=total_order(types), table=subject.table)
    ((moved,),) = subject.workspace.rows(query)
    return subject.finding(
        "order_of_rows",
        "How many rows are not in the order of their own columns. That order reveals nothing about the order of the"
        " source.",
        float(moved),
        moved == 0,
    )

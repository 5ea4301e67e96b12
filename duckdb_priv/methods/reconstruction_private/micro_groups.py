"""Represent each large micro group by a sample of a public size, in which every value keeps its frequency.

A micro group is an equivalence class: the records with equal public attributes. A group of n > s records is represented
by exactly s of them. The sample has the floor or the ceiling of s times the frequency of each value, with exactly that
mean. It is systematic: the values are in a random order, and every (n / s)-th record is taken from one random start.
Within a value, the first records in a keyed order of their ids are taken. If any records leave the group later, the
remaining rows are a sample of the remaining records (``mechanism/growing_sample.md``).

Orders and start are a function of the secret and the group's records; without record ids they are freshly random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import aggregates_of, aliased, steady_sql
from duckdb_priv.engine.drawing import Drawing
from duckdb_priv.engine.kernel import RECORDS, Kernel, Step, Table
from duckdb_priv.engine.source import Source, key_expression
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.methods.common.domain import Domain
from duckdb_priv.methods.common.perturbation import Drawn, open_random_bits, perturb_sql
from duckdb_priv.release.model import SCALE
from duckdb_priv.sqltext.quoting import identifier, same
from duckdb_priv.sqltext.signed import signed
from duckdb_priv.sqltext.templates import fragment, place

LARGE, VALUES, SAMPLE = "_priv_large", "_priv_group_values", "_priv_group_sample"
"""Names of temporary tables."""
LARGEST_SAMPLE = 999_999
"""Largest sample size, because one aggregate collects at most this many records."""


@dataclass(frozen=True)
class Sampling:
    """The SQL that represents large micro groups by samples."""

    source: Source
    """The sampled records with their scale, as a source to be perturbed; its table has placeholders of a kernel."""
    steps: tuple[Step, ...]
    """Steps that make the large groups, the values of each, and the number of records that represent each value."""
    random_bits: Mapping[str, randomness.KeyedBits | randomness.FreshBits]
    tables: Mapping[str, Table] = field(default_factory=dict)

    def kernel(self, source: Source, perturbation: Drawn) -> Kernel:
        """Return the kernel that samples and perturbs the records of a source."""
        return Kernel(
            reads=source.read_types,
            select=perturb_sql(self.source, [perturbation], self.source.table),
            random_bits={**self.random_bits, "random0": perturbation.random_bits.bits},
            tables={**self.tables, **perturbation.tables()},
            steps=self.steps,
            alone=False,
            together=source.public,
        )


def sample_groups(
    workspace: Workspace,
    source: Source,
    domain: Domain,
    sample_size: int,
    context: Mapping[str, object],
    large: str = "large_groups",
    most: int | None = None,
) -> Sampling:
    """Return the sampling that represents every micro group of more than ``sample_size`` records by that many.

    ``context`` defines the noise. The SQL fragment ``large`` selects the groups to sample and the number of records of
    each. ``most`` is the largest number of records of one value, if it is known. Raises InvalidSource if a published
    column is called scale.
    """
    sql = group_sql(source, domain, sample_size, most)
    return Sampling(
        as_source(source, sql("scaled_records"), "DOUBLE"),
        (
            Step(LARGE, sql(large)),
            Step(VALUES, sql("group_values")),
            Step(SAMPLE, sql("systematic_sample")),
        ),
        bits_of_groups(workspace, source, context),
    )


def most_of_value(workspace: Workspace, source: Source, domain: Domain, sample_size: int) -> int:
    """Return the largest number of records of one value that represent a group: its share of them, rounded up."""
    groups = aggregates_of(workspace, source).group_counts(domain.attribute)
    groups = groups.where(groups.size > sample_size)
    return 1 + int((groups.count * sample_size // groups.size).max(initial=0))


def bits_of_groups(
    workspace: Workspace, source: Source, context: Mapping[str, object]
) -> dict[str, randomness.KeyedBits | randomness.FreshBits]:
    """Derive the random bits for the order of a group's values, the order of a value's records, and the start."""
    return {
        f"{purpose}_bits": open_random_bits(workspace, source, {**context, "purpose": purpose}).bits
        for purpose in ("order", "start", "within")
    }


def as_source(source: Source, records: str, scale_type: str) -> Source:
    """Return a source whose table is a query of sampled records."""
    return replace(
        source,
        table=f"({records})",
        types={**source.types, "_priv_id": _id_type(source), SCALE: scale_type},
        public=(*source.public, SCALE),
        record_id=("_priv_id",) if source.record_id else (),
    )


def _id_type(source: Source) -> str:
    return "BIGINT" if source.integer_id else "VARCHAR"


def order_drawn(source: Source, records: str) -> Drawing:
    """Return the drawing of order bits for ``records``, a query of the records of large groups."""
    return Drawing(records, source.drawing("bits")[0], {"within_bits": "_priv_code"})


def group_sql(
    source: Source,
    domain: Domain,
    sample_size: int,
    most: int | None = None,
    ordered: str | None = None,
) -> Callable[[str], str]:
    """Return a function that fills a named SQL fragment about the micro groups of a source.

    ``most`` is the largest number of records of one value that represent a group; by default ``sample_size``.
    ``ordered`` is a table of the first records of large groups, with their order and the number of records with the
    same value. By default the query draws the order. Raises InvalidSource if a published column is called scale.
    """
    if taken := [name for name in (*source.public, domain.attribute) if name.lower() == SCALE]:
        raise InvalidSource(
            f"column {taken[0]!r} has the name of the column for the number of records that a row represents",
            hint="rename it in a view, or exclude it",
        )
    number, text = source.id_arguments
    is_text = not source.integer_id
    # DuckDB finds the smallest signed numbers in half the time that unsigned ones take.
    first = f"arg_min({{}}, {signed('_bits0')}, {most or sample_size})"
    aliases = {name: f"_priv_public{n}" for n, name in enumerate(source.public)}
    fillings = {
        "source": f"{place(RECORDS)} AS s",
        "domain": domain.table,
        "sensitive": f"s.{key_expression(domain.attribute, domain.source_type)}",
        "sensitive_name": identifier(domain.attribute),
        "sample_size": str(sample_size),
        "first_numbers": "NULL::BIGINT[]" if is_text else first.format("_number"),
        "first_texts": first.format("_text") if is_text else "NULL::VARCHAR[]",
        "ordered": ordered or f"({order_drawn(source, fragment('grouped_records')).sql})",
        "rows": "any_value(_priv_rows)" if ordered else "count(*)",
        "id_number": number,
        "id_text": text,
        "id": text if is_text else number,
        "drawn_number": "NULL::BIGINT" if is_text else "_priv_id",
        "drawn_text": "_priv_id" if is_text else "NULL::VARCHAR",
        "sampled_id": f"t._priv_{'texts' if is_text else 'numbers'}[t._priv_number]",
        "order": place("order_bits"),
        "start": place("start_bits"),
        "groups": place("groups_bits"),
        "marks": place("marks_bits"),
        "group": steady_sql(source.public, source.types),
        "id_of_coded": "_priv_text" if is_text else "_priv_number",
        "large": LARGE,
        "values": VALUES,
        "sample": SAMPLE,
        "same_group": " AND ".join(
            same(f"s.{identifier(name)}", f"g.{alias}") for name, alias in aliases.items()
        )
        or "true",
        "public": aliased(source.public),
        "named_public": "".join(f"s.{identifier(name)}, " for name in aliases),
        "sampled_public": "".join(
            f"g.{alias} AS {identifier(name)}, " for name, alias in aliases.items()
        ),
    }
    return lambda name: fragment(name, **fillings)

"""What the view of the schema ``estimated`` reads: the cells that a statement tells apart, with every true value.

The query is made when the statement is bound, out of its text: a column that it does not name is not grouped by, an
attribute that it does not name is not laid out, and reading either raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb_priv.estimator import estimated_names as names
from duckdb_priv.estimator.estimated_names import MESSAGES, SPREAD, SPREAD_TYPE, WEIGHT
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.estimator.weights import numbers_of, weight
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, fill, read, sections

FOLDER = "analyst/estimated"
"""Where its SQL stands."""
CURRENT = "system.main.current_query()"
RUNNING = (
    f"CASE WHEN system.main.current_query_id() > 9223372036854775807 THEN '' ELSE {CURRENT} END"
)
"""The text of the statement, if one runs; DuckDB 1.2 cannot tell, and fails where none does."""
STATEMENT = "_priv_statement"
"""What stands for either in the text of a query."""


@dataclass(frozen=True)
class WeightedTable:
    """A release that is counted, and its columns."""

    release: str
    public: Mapping[str, str]
    """Public columns with their types."""
    attributes: Sequence[SensitiveAttribute]
    rows: int

    @property
    def summable(self) -> bool:
        """Whether records count for every value with a weight of their own, and no column is called like it."""
        forms = [form_of(each) for each in self.attributes]
        columns = {
            name.lower() for name in (*self.public, *(each.name for each in self.attributes))
        }
        taken = columns & {name.strip('"') for name in (WEIGHT, SPREAD)}
        return (
            bool(forms)
            and not taken
            and all(
                form.invertible and (form.joined or (form.scaled and form.drawn)) for form in forms
            )
        )

    def message(self, name: str) -> str:
        """Write one of the messages as a literal."""
        return literal(f"estimated: {MESSAGES[name].format(release=self.release)}")

    @staticmethod
    def true_type(attribute: SensitiveAttribute) -> str:
        """Return the type of an attribute in the source."""
        return "VARCHAR" if attribute.type == "ENUM" else attribute.type.removesuffix("[]")


def cells(table: WeightedTable) -> str:
    """Write the text of the query, as SQL that makes it of the text of the statement."""
    error = f"system.main.error({table.message('unnamed')})"
    counts, squares, sampled, scale = _counts(table.attributes)
    moments = f", records: c._priv_n, squares: {squares}, sampled: {sampled}}} AS {SPREAD_TYPE})"
    filled = {
        "statement": STATEMENT,
        "columns": f"[{', '.join(_columns(table, error))}]",
        "named": "((q).every OR system.main.contains((q).names, (c).name))",
        "weight": literal(f" AS {WEIGHT}, "),
        "row": literal("CAST({cell: c._priv_cell, x: 0"),
        "moments": literal(moments),
        "no_row": literal(f"CAST({error} AS {SPREAD_TYPE})"),
        "spread": literal(f" AS {SPREAD} FROM ("),
        "counted": literal(f"{scale}{counts} FROM main.{identifier(table.release)} GROUP BY ALL"),
        "known_versions": literal(names.KNOWN_VERSIONS),
        "no_new_aggregate": literal(f" WHERE {_no_new_aggregate(table)}"),
    }
    return _of_statement(fill(body(read(FOLDER, "cells")), filled))


def guard(table: WeightedTable) -> str:
    """Write the text of the query that says whether the statement sums, or raises, in the same way."""
    texts = sections(FOLDER, "guard")
    places = {
        **texts,
        "release": literal(table.release.lower()),
        "count_names": "|".join(names.COUNTS),
        "counts": ", ".join(literal(f" {name}") for name in names.COUNTS),
        "others": ", ".join(literal(f" {name}") for name in names.OTHERS),
        "known_calls": "|".join(names.WELL_KNOWN),
        "beside_a_table": ", ".join(map(literal, names.BESIDE_A_TABLE)),
        **{f"says.{name}": table.message(name) for name in MESSAGES},
    }
    reduction = fill(texts["reduction"], {**places, "statement": f"coalesce({CURRENT}, '')"})
    places |= {
        "statement": STATEMENT,
        "reduced": literal(reduction),
        "macro": literal(texts["macro"]),
    }
    return _of_statement(fill(texts["guard"], places))


def _of_statement(query: str) -> str:
    """Write the text of a query that an expression over the text of the statement makes.

    A client may bind a statement before it runs it, when DuckDB has no text of it; what it runs is bound again.
    """
    return (
        f"system.main.replace({literal(f'FROM query({query})')}, {literal(STATEMENT)},"
        f" CASE WHEN system.main.version() LIKE 'v1.2.%' THEN {literal(CURRENT)} ELSE {literal(RUNNING)} END)"
    )


def _columns(table: WeightedTable, error: str) -> Iterator[str]:
    """Write of each column what stands for it in the query, as structs of texts."""

    def struct(name: str, kind: str, shown: str, grouped: str, **texts: str) -> str:
        fields = {
            "name": name.lower(),
            "shown": f"{shown}, ",
            "hidden": f"CAST({error} AS {kind}) AS {identifier(name)}, ",
            "grouped": f"{identifier(grouped)}, ",
            "law": "", "weight": "", "place": "",
        } | texts  # fmt: skip
        return f"{{{', '.join(f'{field}: {literal(text)}' for field, text in fields.items())}}}"

    for name, kind in table.public.items():
        yield struct(name, kind, f"c.{identifier(name)}", name)
    step = 1
    for number, each in enumerate(table.attributes, start=1):
        x, y, reported = f"x{number}", f"y{number}", f"c.{identifier(each.column)}"
        kind, law = table.true_type(each), _law(each)
        one = weight(each.form, reported, each.size, each.blocks, x=x, y=y, scale=f"c.{SCALE}")
        joined = f" JOIN {law} AS {y} ON {y}.value IS NOT DISTINCT FROM CAST({reported} AS VARCHAR)"
        yield struct(
            each.name,
            kind,
            f"CAST({x}.value AS {kind}) AS {identifier(each.name)}",
            each.column,
            law=f"{joined * (f'{y}.' in one)} CROSS JOIN {law} AS {x}",
            weight=f" * ({qualified(one)})",
            place=f" + {step} * {x}.position",
        )
        step *= each.size


def _law(attribute: SensitiveAttribute) -> str:
    """Write the numbers that the weights of an attribute are made of."""
    numbers = "".join(f", {qualified(each)}" for each in numbers_of(attribute.form))
    return (
        f"(SELECT position, value{numbers} FROM priv.coefficient"
        f" WHERE release = {literal(attribute.release)} AND attribute = {literal(attribute.name)})"
    )


def _no_new_aggregate(table: WeightedTable) -> str:
    return fill(
        body(read(FOLDER, "new_aggregates")),
        {
            "known": ", ".join(map(literal, (*names.COUNTS, *names.OTHERS))),
            "statement": CURRENT,
            "says.new": table.message("new"),
        },
    )


def _counts(attributes: Sequence[SensitiveAttribute]) -> tuple[str, str, str, str]:
    """Write for how many records a cell stands; for the variance the squares of that, and what sampling adds at most.

    Last comes the column by which cells must be told apart, because it says how far their records are perturbed.
    """
    form = form_of(attributes[0])
    if not form.scaled:
        varied = f"{SCALE}, " if form.varied else ""
        return "system.main.count_star()::DOUBLE AS _priv_n", "c._priv_n", "0e0", varied
    size = literal(float(attributes[0].constants.get("together", 1)))
    squares = f"{SCALE} * {SCALE}"
    counts = (
        f"system.main.sum({SCALE})::DOUBLE AS _priv_n, system.main.sum({squares})::DOUBLE AS _priv_squares,"
        f" system.main.sum(CASE WHEN {SCALE} > 1 THEN {squares} ELSE 0 END)::DOUBLE AS _priv_sampled"
    )
    return counts, "c._priv_squares", f"c._priv_sampled / (4 * {size})", ""

"""What the view of the schema ``estimated`` reads: the cells that a statement tells apart, with every true value.

The query is made when the statement is bound, out of its text: a column that it does not name is not grouped by, an
attribute that it does not name is not laid out, and reading either raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from duckdb_priv.analyst import estimated_names as names
from duckdb_priv.analyst.estimated_names import MESSAGES, SPREAD, SPREAD_TYPE, WEIGHT
from duckdb_priv.analyst.forms import form_of
from duckdb_priv.analyst.weights import numbers_of, weight
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.builtins import qualified
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, fill, read

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
    spread = _named("count_stderr", "count_low", "count_high")
    columns, groups, laws, weights, places = [], [], [], [], []
    for name, kind in table.public.items():
        column = identifier(name)
        columns.append(_if(_named(name), f"c.{column}, ", f"CAST({error} AS {kind}) AS {column}, "))
        groups.append(_if(_named(name), f"{column}, "))
    step = 1
    for number, each in enumerate(table.attributes, start=1):
        column, kind, asked = identifier(each.name), table.true_type(each), _named(each.name)
        x, y, reported = f"x{number}", f"y{number}", f"c.{identifier(each.column)}"
        columns.append(
            _if(
                asked,
                f"CAST({x}.value AS {kind}) AS {column}, ",
                f"CAST({error} AS {kind}) AS {column}, ",
            )
        )
        groups.append(_if(asked, f"{identifier(each.column)}, "))
        one = weight(each.form, reported, each.size, each.blocks, x=x, y=y, scale=f"c.{SCALE}")
        law = _law(each)
        joined = f" JOIN {law} AS {y} ON {y}.value IS NOT DISTINCT FROM CAST({reported} AS VARCHAR)"
        laws.append(_if(asked, f"{joined * (f'{y}.' in one)} CROSS JOIN {law} AS {x}"))
        weights.append(_if(asked, f" * ({qualified(one)})"))
        places.append(_if(asked, f" + {step} * {x}.position"))
        step *= each.size
    counts, squares, sampled, scale = _counts(table.attributes)
    product = " || ".join(weights)
    row = " || ".join(
        (
            literal("CAST({cell: c._priv_cell, x: 0"),
            *places,
            literal(", w: 1e0"),
            *weights,
            literal(
                f", records: c._priv_n, squares: {squares}, sampled: {sampled}}} AS {SPREAD_TYPE})"
            ),
        )
    )
    pieces = [
        literal("SELECT "),
        *columns,
        f"'c._priv_n' || {product} || {literal(f' AS {WEIGHT}, ')}",
        f"CASE WHEN {spread} THEN {row} ELSE {literal(f'CAST({error} AS {SPREAD_TYPE})')} END",
        literal(f" AS {SPREAD} FROM ("),
        _if(spread, "SELECT *, system.main.row_number() OVER () AS _priv_cell FROM ("),
        literal("SELECT "),
        *groups,
        literal(f"{scale}{counts} FROM main.{identifier(table.release)} GROUP BY ALL"),
        _if(spread, ")"),
        literal(") AS c"),
        *laws,
        f"CASE WHEN system.main.regexp_matches(system.main.version(), {literal(names.KNOWN_VERSIONS)}) THEN ''"
        f" ELSE {literal(f' WHERE {_no_new_aggregate(table)}')} END",
    ]
    query = literal(f"FROM query({' || '.join(pieces)})")
    # A client may bind a statement before it runs it, when DuckDB has no text of it; what it runs is bound again.
    return (
        f"system.main.replace({query}, {literal(STATEMENT)}, CASE WHEN system.main.version() LIKE 'v1.2.%'"
        f" THEN {literal(CURRENT)} ELSE {literal(RUNNING)} END)"
    )


def _named(*columns: str) -> str:
    """Write whether the statement names one of some columns: whether its text has the name anywhere."""
    asked = f"system.main.lower({STATEMENT})"
    spelt = dict.fromkeys(
        text for name in columns for text in (name.lower(), name.lower().replace('"', '""'))
    )
    return f"({' OR '.join(f'system.main.contains({asked}, {literal(text)})' for text in spelt)} OR {_EVERY})"


_EVERY = (
    f"(system.main.contains(system.main.lower({STATEMENT}), 'with') AND"
    f" system.main.regexp_matches({STATEMENT}, '(?i)(?:select|,|\\.|distinct)\\s*\\*'))"
)
"""Whether all columns may have to be laid out, as DuckDB does for a WITH that selects them all and is read twice."""


def _if(condition: str, text: str, otherwise: str = "") -> str:
    return f"CASE WHEN {condition} THEN {literal(text)} ELSE {literal(otherwise)} END"


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
    size = literal(float(attributes[0].constants.get("sample_size", 1)))
    squares = f"{SCALE} * {SCALE}"
    counts = (
        f"system.main.sum({SCALE})::DOUBLE AS _priv_n, system.main.sum({squares})::DOUBLE AS _priv_squares,"
        f" system.main.sum(CASE WHEN {SCALE} > 1 THEN {squares} ELSE 0 END)::DOUBLE AS _priv_sampled"
    )
    return counts, "c._priv_squares", f"c._priv_sampled / (4 * {size})", ""

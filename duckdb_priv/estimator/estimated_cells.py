"""The query of the view in the schema ``estimated``: the cells of a statement, each with every true value.

The query is built from the statement's text when DuckDB binds it. A public column that the statement does not name is
not grouped by. An attribute that it does not name is not expanded. Reading such a column raises an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from duckdb_priv.estimator import estimated_names as names
from duckdb_priv.estimator.estimated_names import MESSAGES, ROW, ROW_TYPE, WEIGHT
from duckdb_priv.estimator.forms import form_of
from duckdb_priv.estimator.weights import numbers_of, steps_of, weight
from duckdb_priv.release.model import SCALE, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.moments import MOMENTS, SQUARED
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, compact, fill, read, sections, template

FOLDER = "analyst/estimated"
PROBE = f"SELECT count(*) FROM (VALUES (2.5::DOUBLE), (-1)) AS probe({WEIGHT})"
"""A count of known weights. It is 1.5 if it calls the macro of the schema."""


@dataclass(frozen=True)
class WeightedTable:
    """A release and its columns, as the view counts them."""

    release: str
    public: Mapping[str, str]
    """Public columns with their types."""
    attributes: Sequence[SensitiveAttribute]
    rows: int

    @property
    def names(self) -> list[str]:
        """Return the names of its columns in lower case."""
        return [name.lower() for name in (*self.public, *(each.name for each in self.attributes))]

    @property
    def summable(self) -> bool:
        """Whether each record has a weight for every value, and no column has the name of the weight."""
        forms = [form_of(each) for each in self.attributes]
        taken = {*self.names} & {name.strip('"') for name in (WEIGHT, ROW)}
        return (
            bool(forms)
            and not taken
            and all(
                form.invertible and (form.joined or (form.scaled and form.drawn)) for form in forms
            )
        )

    def message(self, name: str) -> str:
        """Return one of the messages as a literal."""
        return literal(f"estimated: {MESSAGES[name].format(release=self.release)}")

    @staticmethod
    def true_type(attribute: SensitiveAttribute) -> str:
        """Return the type of an attribute in the source."""
        return "VARCHAR" if attribute.type == "ENUM" else attribute.type.removesuffix("[]")


@dataclass(frozen=True)
class ViewColumn:
    """A column of the view, and the parts of the query that depend on it."""

    name: str
    shown: str
    hidden: str
    """The column if the statement does not name it: an expression that raises an error."""
    grouped: str
    weight: str = ""
    place: str = ""
    """The attribute's term in the number of a row within its cell."""
    law: str = ""
    domain: str = ""
    counting: str = ""
    """A table to join: for each value, the largest, smallest, mean and mean squared weight of all rows of the
    release."""
    factor: str = ""

    @property
    def named(self) -> str:
        """Write the condition that the statement names the column."""
        return f"contains('_priv_names', {literal(self.name)})"

    def chosen(self, text: str, otherwise: str = "") -> str:
        """Write a text that is in the query only if the statement names the column."""
        return f"CASE WHEN {self.named} THEN {literal(text)} ELSE {literal(otherwise)} END"


OPTIONAL = {
    "known": """contains(s['kind'], 'd') OR NOT contains(s['tree'], 'COMPARE_')""",
    "checked": template("@plain@"),
}
"""Parts of ``made`` that not every statement needs. For each: the condition, over ``view``, that a statement does not
need it."""
NODES = {
    "selects": ("tree", "SELECT_NODE"),
    "tables": ("tree", "BASE_TABLE"),
    "selects_below": ("json_extract(n, '$.from_table')", "SELECT_NODE"),
    "selects_inside": ("r['node']", "SELECT_NODE"),
    "tables_inside": ("r['node']", "BASE_TABLE"),
}
"""Lists of nodes that the queries read: of what, and of which kind."""


def queries(table: WeightedTable) -> dict[str, str]:
    """Write the SQL that builds the texts of queries from the statement that runs.

    There is the query of the view, and of the weight of a row that is passed on.
    """
    error = f"error({table.message('unnamed')})"
    counts, moments, scale = _counts(table.attributes)
    texts = {
        # Weights are rounded to whole steps, so that counts of the same records are equal to the last digit.
        "weight": f" * {steps_of(table.rows)}) / {steps_of(table.rows)} AS {WEIGHT}",
        "no_weight": f"CAST({error} AS DOUBLE) AS {WEIGHT}",
        "no_row": f"CAST({error} AS {ROW_TYPE}) AS {ROW}",
        "moments": f", records: c._priv_n, {moments}, attribute: ",
        "row_end": f"}} AS {ROW_TYPE}) AS {ROW}",
        "counted": f"{scale}{counts} FROM _priv_home.main.{identifier(table.release)} GROUP BY ALL",
        "no_rows": f" AND CAST(error({table.message('unseen')}) AS BOOLEAN)",
        "called": f"CASE WHEN ({PROBE}) <> 1.5 THEN error({table.message('shadowed')}) ELSE true END",
        "judge": fill(_judge(), _words(table)),
        "named_release": identifier(table.release),
    }
    columns = [*_columns(table, error)]
    attributes = [each for each in columns if each.law]
    pieces = _pieces()
    places = {
        **pieces,
        **{
            name: fill(pieces["nodes"], {"of": of, "sought": literal(kind)})
            for name, (of, kind) in NODES.items()
        },
        **_words(table),
        **{name: literal(text) for name, text in texts.items()},
        "every_name": literal(literal(" ".join(each.name for each in columns))[1:-1]),
        "names": "|".join(names.COUNTS),
        "view_rows": _rows(table),
        "shown": ", ".join(each.chosen(each.shown, each.hidden) for each in columns),
        "grouped": f"concat({', '.join(each.chosen(each.grouped) for each in columns)})",
        "attributes": " + ".join(f"CAST({each.named} AS INTEGER)" for each in attributes),
        "attribute": " + ".join(
            f"{number} * CAST({each.named} AS INTEGER)" for number, each in enumerate(attributes, 1)
        ),
        "known": ", ".join(_known(pieces["compared"], each) for each in attributes) or "''",
    }
    for name in ("weight", "place", "law", "factor", "counting"):
        chosen = ", ".join(each.chosen(getattr(each, name)) for each in attributes)
        places[name if name == "counting" else f"{name}s"] = f"concat({chosen})"
    for name in ("weighing", "weighed_place"):
        places[name] = literal(fill(pieces[name], places))
    parts = {name: f"_priv_{name}" for name in OPTIONAL}
    made = literal(fill(pieces["made"], places | parts))
    for name, needless in OPTIONAL.items():
        part = literal(fill(places[name], places))
        chosen = f"CASE WHEN {fill(needless, places)} THEN '''''' ELSE {part} END"
        made = f"replace({made}, {literal(parts[name])}, {chosen})"
    places["made"] = made
    return {name: fill(pieces[name], places) for name in ("view", "own_weight")}


@cache
def _pieces() -> Mapping[str, str]:
    """Return the pieces of the queries, without comments."""
    return {name: compact(text) for name, text in sections(FOLDER, "statement").items()}


@cache
def _judge() -> str:
    return compact(body(read(FOLDER, "judge")))


def _words(table: WeightedTable) -> dict[str, str]:
    """Return the names and messages by which a statement is judged, as literals."""
    valued = [name for name, taken in names.SUMS.items() if taken]
    listed = {
        "counts": names.COUNTS,
        "others": names.OTHERS,
        "decomposed": names.DECOMPOSED,
        "random": names.RANDOM,
        "squared": SQUARED,
        "not_weighed": sorted({*names.COUNTS} - {*names.SUMS, *names.OTHER_NAMES}),
        "valued": [*valued, *names.OTHER_NAMES, *MOMENTS, *names.QUANTILES],
        "sensitive": [each.name.lower() for each in table.attributes],
        "of_view": table.names,
    }
    return {
        "release": literal(table.release.lower()),
        "schema": literal(names.SCHEMA),
        # A sample does not show which values exist.
        "sampled": "true" if form_of(table.attributes[0]).scaled else "false",
        **{name: ", ".join(map(literal, values)) for name, values in listed.items()},
        **{f"says.{name}": table.message(name) for name in MESSAGES},
    }


def _rows(table: WeightedTable) -> str:
    """Return the largest number of rows of the view; unknown where a row may represent several records."""
    form = form_of(table.attributes[0])
    if form.scaled or form.varied:
        return "NULL"
    return str(table.rows * math.prod(each.size for each in table.attributes))


def _known(compared: str, column: ViewColumn) -> str:
    """Write the text of a condition that raises if the statement compares an attribute with a text it does not have."""
    if not column.domain:
        return "''"
    found = fill(compared, {"name": literal(column.name)})
    return f"' AND ' || replace({literal(column.domain)}, '_asked_texts', {found})"


def _domain(attribute: SensitiveAttribute, kind: str) -> str:
    """Write the condition that raises if one of ``_asked_texts`` is not in the attribute's domain."""
    if kind != "VARCHAR" and "INT" not in kind:
        return ""
    values = (
        f"FROM _priv_home.priv.coefficient WHERE release = {literal(attribute.release)}"
        f" AND attribute = {literal(attribute.name)} AND value IS NOT NULL"
    )
    stated = (
        f"concat('estimated: ', min(v), ' is not a value of ', {literal(attribute.name)}, '; it has ',"
        f" (SELECT string_agg(value, ', ') FROM (SELECT value {values} ORDER BY position ASC LIMIT 50)))"
    )
    return (
        f"(SELECT CASE WHEN min(v) IS NULL THEN true ELSE error({stated}) END"
        f" FROM (SELECT unnest([_asked_texts]) AS v) WHERE v <> '' AND v NOT IN (SELECT value {values}))"
    )


def _columns(table: WeightedTable, error: str) -> Iterator[ViewColumn]:
    for name, kind in table.public.items():
        hidden = f"CAST({error} AS {kind}) AS {identifier(name)}"
        yield ViewColumn(name.lower(), f"c.{identifier(name)}", hidden, f"{identifier(name)}, ")
    step = 1
    for number, each in enumerate(table.attributes, start=1):
        x, y, reported = f"x{number}", f"y{number}", f"c.{identifier(each.column)}"
        kind, law = table.true_type(each), _law(each)
        one = weight(each.form, reported, each.size, each.blocks, x=x, y=y, scale=f"c.{SCALE}")
        if form_of(each).from_histogram:
            # A value that is in every decoy group has no weights.
            one = f"coalesce({one}, CAST(error({table.message('silent')}) AS DOUBLE))"
        joined = f" JOIN {law} AS {y} ON {y}.value IS NOT DISTINCT FROM CAST({reported} AS VARCHAR)"
        yield ViewColumn(
            each.name.lower(),
            f"CAST({x}.value AS {kind}) AS {identifier(each.name)}",
            f"CAST({error} AS {kind}) AS {identifier(each.name)}",
            f"{identifier(each.column)}, ",
            weight=f" * ({one})",
            place=f" + {step} * {x}.position",
            law=f"{joined * (f'{y}.' in one)} CROSS JOIN {law} AS {x}",
            domain=_domain(each, kind),
            counting=f" JOIN {_counting(each)} AS z{number} ON z{number}.position = {x}.position",
            factor=", {"
            + ", ".join(f"{name}: z{number}.{name}" for name in ("most", "least", "mean", "square"))
            + "}",
        )
        step *= each.size


def _counting(of: SensitiveAttribute) -> str:
    """Write the table of largest, smallest, mean and mean squared weight of the release's rows, by value."""
    law, reported = _law(of), identifier(of.column)
    count = "system.main.count_star()"
    shown = (
        f"(SELECT r.*, v.* EXCLUDE (value) FROM (SELECT {reported} AS reported, {count} / sum({count}) OVER () AS share"
        f" FROM _priv_home.main.{identifier(of.release)} GROUP BY ALL) AS r"
        f" LEFT JOIN {law} AS v ON v.value IS NOT DISTINCT FROM CAST(r.reported AS VARCHAR))"
    )
    w = weight(of.form, "y.reported", of.size, of.blocks)
    counted = (
        f"(SELECT position, max(w) AS most, min(w) AS least, sum(share * w) AS mean, sum(share * w ** 2) AS square"
        f" FROM (SELECT x.position, y.share, {w} AS w FROM {law} AS x CROSS JOIN {shown} AS y) GROUP BY position)"
    )
    return qualified(counted)


def _law(attribute: SensitiveAttribute) -> str:
    """Write the query of the numbers from which an attribute's weights are computed."""
    numbers = qualified("".join(f", {each}" for each in numbers_of(attribute.form)))
    return (
        f"(SELECT position, value{numbers} FROM _priv_home.priv.coefficient"
        f" WHERE release = {literal(attribute.release)} AND attribute = {literal(attribute.name)})"
    )


def _counts(attributes: Sequence[SensitiveAttribute]) -> tuple[str, str, str]:
    """Write how many records a cell represents, the moments of its error (``estimated_ends``), and the scale column.

    The scale column says how strongly records are perturbed, so cells are grouped by it. It is empty if the strength is
    equal in all rows.
    """
    form = form_of(attributes[0])
    if not form.scaled:
        units = f"c._priv_n * c.{SCALE}" if form.varied else "c._priv_n"
        moments = f"squares: c._priv_n, units: {units}, largest: 1e0, sampled: 0e0"
        varied = f"{SCALE}, " if form.varied else ""
        return "system.main.count_star()::DOUBLE AS _priv_n", moments, varied
    size = literal(float(attributes[0].constants.get("together", 1)))
    squares = f"{SCALE} * {SCALE}"
    counts = (
        f"system.main.sum({SCALE})::DOUBLE AS _priv_n, system.main.sum({squares})::DOUBLE AS _priv_squares,"
        f" system.main.max({SCALE})::DOUBLE AS _priv_largest,"
        f" system.main.sum(CASE WHEN {SCALE} > 1 THEN {squares} ELSE 0 END)::DOUBLE AS _priv_sampled"
    )
    moments = (
        "squares: c._priv_squares, units: c._priv_squares, largest: c._priv_largest,"
        f" sampled: c._priv_sampled / (4 * {size})"
    )
    return counts, moments, ""

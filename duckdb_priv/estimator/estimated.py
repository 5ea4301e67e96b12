"""The schema ``estimated`` of a release file: after ``USE estimated``, plain SQL counts as if the table were true.

It holds a view with the name of the release and macros with the names of DuckDB's aggregates: ``count(*)`` sums
weights. The columns of the view are the public columns and the attributes. DuckDB binds the view again for every
statement. The view reads the statement and groups the published records into cells by the columns that the statement
names. Then it expands each cell to every true value that its records may have. So columns that a statement does not
name cost nothing (``estimated_cells``).

It fails closed. DuckDB's own parser shows what the statement does with the rows, and each SELECT that reads them must
sum them (``sql/analyst/estimated/judge.sql``). The schema must be the one in use. A count of known weights must show
that the statement calls the macros and not DuckDB's aggregates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import duckdb

from duckdb_priv.estimator import estimated_names as names
from duckdb_priv.estimator.estimated_cells import WeightedTable, queries
from duckdb_priv.estimator.estimated_ends import Ends, formulas
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.moments import MOMENTS, OF_ONE, centred
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import fill


def statements(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> list[str]:
    """Return the SQL of the schema for a release in the current database."""
    counted = counted_table(connection, release, attributes)
    made = queries(counted) if counted.summable else {}
    view = f"{names.SCHEMA}.{identifier(release)}"
    return [
        f"CREATE SCHEMA {names.SCHEMA}",
        # Macros call each other without a schema name: the schema is in use when they are created and called.
        f"USE {names.SCHEMA}",
        *_macros(counted, made),
        "USE main",
        f"CREATE VIEW {view} AS {_view(counted, made)}",
        f"COMMENT ON VIEW {view} IS "
        + literal(
            f"{release} as if it were the true table: after USE {names.SCHEMA}, count(*), sum and avg of it are"
            " ESTIMATES."
        ),
        *(
            f"COMMENT ON COLUMN {view}.{identifier(name)} IS {literal(stated)}"
            for name, stated in _comments(connection, release, counted).items()
        ),
    ]


STATED = {
    "public": "Published as it is.",
    "generalized": "Made coarser.",
    "sensitive": "Its true values: count(*), sum and avg by it or over it are ESTIMATES.",
}
"""Comments on columns, by role of the column."""


def _comments(
    connection: duckdb.DuckDBPyConnection, release: str, counted: WeightedTable
) -> dict[str, str]:
    """Return the comment of each column of the view."""
    stated = {
        of.attribute: "\n".join(filter(None, [of.description, STATED[of.role]]))
        for of in catalog.published_columns(connection, release)
        if of.role in STATED
    }
    if counted.summable:
        weights = "The aggregates of this schema read it. Leave it out."
        stated |= {name.strip('"'): weights for name in (names.WEIGHT, names.ROW)}
    return stated


def counted_table(
    connection: duckdb.DuckDBPyConnection, release: str, attributes: Sequence[SensitiveAttribute]
) -> WeightedTable:
    """Return the table that the view counts."""
    published = catalog.published_columns(connection, release) if attributes else []
    scales = {of.name for of in published if of.role == "scale"}
    hidden = {name.lower() for name in scales | {each.column for each in attributes}}
    described = connection.execute(f"DESCRIBE main.{identifier(release)}").fetchall()
    types = {name: kind for name, kind, *_ in described}
    ((rows,),) = connection.execute(
        "SELECT rows_published FROM priv.release WHERE release = ?", [release]
    ).fetchall()
    return WeightedTable(
        release,
        {name: kind for name, kind in types.items() if name.lower() not in hidden},
        attributes,
        rows,
    )


VALUES = {
    "count_star": ("1e0", "true"),
    "count": ("1e0", "x IS NOT NULL"),
    "count_if": ("1e0", "x"),
    "sum": ("TRY_CAST(x AS DOUBLE)", "TRY_CAST(x AS DOUBLE) <> 0"),
    "avg": ("TRY_CAST(x AS DOUBLE)", "x IS NOT NULL"),
}
"""SQL of the value that a record adds to each aggregate, and of whether it is counted."""
MACRO = re.compile(r"^([a-z_]+)\(([^)]*)\) AS (.*(?:\n .*)*)", re.MULTILINE)
"""Matches a macro in its section: name, arguments and text, whose further lines are indented."""
SUM = re.compile(r"\b[nxy]{1,2}\b")
"""Matches the names of sums over records in the formulas of moments."""
STAND_IN = f"{{{', '.join(f'{end}: 0e0' for end in names.ENDS)}}}"
"""SQL that stands for the text of a macro until the macros that call it exist.

DuckDB binds a macro when it is created, with everything that it calls. Twenty macros call those of the intervals, which
take 20 ms to bind.
"""


def _macros(counted: WeightedTable, made: Mapping[str, str]) -> Iterator[str]:
    texts = formulas(counted)
    called = [*Ends(counted).macros()] if counted.summable else []
    for name, arguments, _ in called:
        yield _macro(name, {arguments: STAND_IN})

    def ends(name: str, end: str) -> str:
        if not counted.summable:
            return f"({fill(texts['row'], texts)}).w"
        summed = ["sum", "count"] if name == "avg" else [name]
        estimates = [f"{each}({names.SUMS[each]})" for each in summed]
        which = {"sum": "sum", "avg": "mean"}.get(name, "count")
        return (
            f"(_priv_{which}({', '.join(estimates)}, _priv_rows({', '.join(VALUES[name])}))).{end}"
        )

    places = texts | _steps_of_quantiles(texts | {"between": counted.message("between")})
    places["centred"] = centred("_products", "_one", "_two", "_records")
    for name, arguments, text in MACRO.findall(texts["macros"]):
        yield _macro(name, {arguments: fill(text.strip(), places)})
    for name, arguments in names.SUMS.items():
        for end in names.ENDS:
            if name != "count_star":
                every = {arguments: ends(name, end)}
                if name == "count":
                    every = {"": ends("count_star", end)} | every
                yield _macro(f"{name}_{end}", every)
    for name in MOMENTS:
        yield _macro(name, _moment(name, texts))
    for name in names.QUANTILES:
        yield _macro(name, _quantile(name, texts))
    for name, arguments, text in called:
        yield _macro(name, {arguments: text})
    if counted.summable:
        yield _macro(names.WEIGHT, {"": f"(FROM query({made['own_weight']}))"})


def _moment(name: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Write a variance, correlation or regression macro; for other tables it calls DuckDB's own aggregate."""
    arguments, pair = ("x", "x, x") if name in OF_ONE else ("y, x", "y, x")
    formula = SUM.sub(r"(m).\g<0>", MOMENTS[name])
    places = {"formula": formula, "aggregate": name, "arguments": arguments, "pair": pair}
    return {arguments: fill(texts["moment"], places)}


def _quantile(name: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Write a quantile macro; for other tables it calls DuckDB's own aggregate."""
    arguments = names.QUANTILES[name]
    places = {"kind": "continuous" if name in ("median", "quantile_cont") else "discrete"}
    places |= {"aggregate": name, "arguments": arguments}
    places["share"] = "0.5" if arguments == "x" else "q"
    return {arguments: fill(texts["quantile"], {**texts, **places})}


def _steps_of_quantiles(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the parts of the macros that the quantile macros call."""
    scans = {"sums": "[(e).w FOR e IN (m).r]", "largest": "(m).c", "smallest": "(m).c"}
    places = dict(texts)
    for each, numbers in scans.items():
        places[each] = fill(texts["scanned"], {"numbers": numbers, "step": texts[each]})
    for each, rank in (("at_floor", "floor(r)"), ("at_ceiling", "ceil(r)")):
        places[each] = fill(texts["at"], {"place": rank})
    for kind in ("continuous", "discrete"):
        quantile = {"quantile": fill(texts[kind], places)}
        places[f"of_shares.{kind}"] = fill(texts["of_shares"], quantile)
    return places


def _macro(name: str, texts: dict[str, str]) -> str:
    overloads = ", ".join(f"({arguments}) AS {text}" for arguments, text in texts.items())
    return f"CREATE OR REPLACE MACRO {names.SCHEMA}.{name}{overloads}"


def _view(counted: WeightedTable, made: Mapping[str, str]) -> str:
    if counted.summable:
        return f"FROM query({made['view']})"
    public, table = [*map(identifier, counted.public)], f"main.{identifier(counted.release)}"
    refused = f"error({counted.message('form')})"
    unknown = (
        f"CAST({refused} AS {counted.true_type(each)}) AS {identifier(each.name)}"
        for each in counted.attributes
    )
    return f"SELECT {', '.join([*public, *unknown])} FROM {table} WHERE CAST({refused} AS BOOLEAN)"

"""Write views of estimates for databases other than DuckDB: plain SQL over the published table, in their dialects.

The moments of a form and the test of the interval are parsed from the estimator's own SQL files. This works for forms
whose counts follow from the rows that show a value and two probabilities for each value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.estimator import views
from duckdb_priv.estimator.forms import Form, form_of
from duckdb_priv.release.model import MANY_VALUES, SensitiveAttribute
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import expand, fill, sections

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("spark", "postgres", "bigquery", "trino", "snowflake")
QUANTILE = "1.959963984540054e0"
"""Normal quantile for 95% intervals."""
NOT_IN_NAMES = re.compile(r"\W")
"""Characters that some databases do not allow in a view's name; each becomes an underscore."""
ANSWER = ("estimate", "stderr", "low", "high")


def can_write(attribute: SensitiveAttribute) -> bool:
    """Whether other databases can estimate the counts of an attribute."""
    form = form_of(attribute)
    return form.two_numbers and attribute.size <= MANY_VALUES


def script(
    release: str, attributes: Sequence[SensitiveAttribute], public: Collection[str], dialect: str
) -> str:
    """Write the script that creates the views of a release in another database.

    Raises InvalidParameter if no attribute has a form that these views support, or if sqlglot is missing.
    """
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        raise InvalidParameter(
            "views for other databases are written by sqlglot, which is not installed",
            hint="pip install 'duckdb_priv[sql]'",
        ) from error
    written = [each for each in attributes if can_write(each)]
    left = [each.name for each in attributes if not can_write(each)]
    if not written:
        raise InvalidParameter(
            f"no attribute of {release!r} can be counted outside DuckDB: that takes two probabilities for each value,"
            " as uniform perturbation has them, and at most 10,000 values",
            hint="leave dialects out, and read the release with DuckDB",
        )
    few = [*public] if views.are_few(len(public), list(attributes)) else []
    statements: dict[str, str] = {}
    for attribute in written:
        for column in (None, *few):
            name = _name(attribute, column, statements)
            statements[name.lower()] = _view(name, attribute, column)
    texts = sqlglot.transpile(
        ";\n".join(statements.values()), read="duckdb", write=dialect, pretty=True, identify=True
    )
    return _head(release, left) + "".join(f"\n{text};\n" for text in texts)


def mark(release: str) -> str:
    """Return the first line of every script of a release, which identifies it."""
    return f"-- duckdb_priv: estimates of {' '.join(release.split())}, with standard errors and 95% intervals.\n"


def _head(release: str, left: Sequence[str]) -> str:
    lines = [
        "Load the published table under this name first, with the same names of columns. Values are compared as text.",
        "To count some rows, put a condition on public columns behind the name of the table.",
        *(
            [f"Only DuckDB counts {', '.join(' '.join(name.split()) for name in left)}."]
            if left
            else []
        ),
    ]
    return mark(release) + "".join(f"-- {line}\n" for line in lines)


def _name(attribute: SensitiveAttribute, column: str | None, taken: Collection[str]) -> str:
    """Return the name of a view: numbered if another column, such as ``a_b`` beside ``a b``, has the same name."""
    name = views.estimates(attribute) if column is None else views.by(attribute, column)
    name = NOT_IN_NAMES.sub("_", name)
    numbered = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in numbered if each.lower() not in taken)


def _view(name: str, attribute: SensitiveAttribute, column: str | None) -> str:
    """Write the view that estimates the count of every value, over all rows or by a public column."""
    form, noisy = form_of(attribute), f"CAST({identifier(attribute.column)} AS VARCHAR)"
    ends = _fields(form, "ends", {})
    filled = {"normal_quantile": QUANTILE} | {
        f"constant.{each}": repr(number) for each, number in attribute.constants.items()
    }
    places = {
        "name": identifier(name),
        "table": identifier(attribute.release),
        "numbers": ", ".join(
            f"({position}, {'CAST(NULL AS VARCHAR)' if value is None else literal(value)}, {own!r}, {other!r})"
            for position, (value, own, other) in enumerate(
                zip(
                    attribute.values,
                    attribute.numbers["own"],
                    attribute.numbers["other"],
                    strict=True,
                )
            )
        ),
        "noisy": noisy,
        "moments": _listed(_fields(form, "moments", filled)),
        "test": _listed(_fields(form, "test", {})),
        "ends": _listed({each: ends[each] for each in ANSWER}),
    }
    parts = dict(sections("dialects", "estimates"))
    view = parts.pop("view")
    if column is None:
        parts = dict.fromkeys(parts, "") | {"showing_by": noisy}
    shown = column or ""
    columns = {"public": identifier(shown), "heading": identifier(views.heading(shown))}
    return fill(expand(view, parts), places | columns)


def _listed(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {identifier(name)}" for name, sql in fields.items())


def _fields(form: Form, section: str, places: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the struct that a section of the estimator builds: expressions over columns, by name."""
    import sqlglot
    from sqlglot import exp

    text = fill(form.text(section), places)
    for struct in ("(s).", "(i).", "(u)."):
        text = text.replace(struct, "")
    found = _without_lets(sqlglot.parse_one(text, read="duckdb")).unnest()
    assert isinstance(found, exp.Struct)
    return {each.this.name: each.expression.sql("duckdb") for each in found.expressions}


def _without_lets(tree: exp.Expr) -> exp.Expr:
    """Replace each let, ``[formula FOR name IN [value]][1]``, by its formula with the value substituted."""
    from sqlglot import exp

    def inlined(node: exp.Expr) -> exp.Expr:
        if not (isinstance(node, exp.Bracket) and isinstance(node.this, exp.Array)):
            return node
        (let,) = node.this.expressions
        assert isinstance(let, exp.Comprehension)
        (value,) = let.args["iterator"].expressions
        name = let.expression.name
        return exp.paren(
            let.this.transform(
                lambda each: (
                    exp.paren(value.copy())
                    if isinstance(each, exp.Column) and not each.table and each.name == name
                    else each
                )
            ).transform(inlined)
        )

    return tree.transform(inlined)

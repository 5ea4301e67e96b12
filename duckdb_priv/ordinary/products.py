"""The law of counts over several attributes: the weights of records by shown values.

If no selected row shows a requested value, the rows seem to have no noise. So the variance is at least that of records
distributed as in the whole release. The frequency of each shown value there is known, and the weight of a record
follows from its shown values. Derivation: ``mechanism/comparison.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from duckdb_priv.ordinary.frame import Frame, filtered, select_sql
from duckdb_priv.ordinary.law import true_value, weight_sql
from duckdb_priv.ordinary.names import LINE, text
from duckdb_priv.ordinary.noise import TRUTH_IS_RANDOM, formula
from duckdb_priv.ordinary.published import Attribute

MOST = 20_000_000
"""Maximum number of combinations of true and shown values. With more, only the variance of a count is known."""


def is_known(frame: Frame) -> bool:
    """Whether the law of counts can be computed from the shown values of each attribute."""
    attributes = list(frame.cells.attributes.values())
    return (
        len(attributes) > 1
        and frame.separable
        and not (frame.joined or frame.subtotals or frame.partly_unknown)
        and not any(each.varied or each.form in TRUTH_IS_RANDOM for each in attributes)
        and prod(each.size * _shown(each) for each in attributes) <= MOST
    )


def _shown(attribute: Attribute) -> int:
    return attribute.blocks.count if attribute.blocks else attribute.size


def law_sql(
    frame: Frame,
    laws: Mapping[str, str],
    columns: Mapping[str, str],
    conditions: Mapping[str, tuple[str, ...]],
    keys: list[str],
) -> str:
    """Write the query of the laws, one row for each group, which is a set of combinations.

    ``laws`` names the queries of the attributes' numbers, ``columns`` the law's column of each count. ``conditions``
    select the combinations of each count.
    """
    cells = frame.cells
    selected, weights, shares, tables = [], [], [], []
    for number, attribute in enumerate(cells.attributes.values(), start=1):
        x, y, law = f"x{number}", f"y{number}", text(laws[attribute.name])
        reported = f"{text(cells.source.alias)}.{text(attribute.column)}"
        tables += [
            f"{law} AS {x}",
            f"(SELECT r.*, row_number() OVER () AS place, v.* EXCLUDE (value) FROM (SELECT {reported} AS reported,"
            f" count(*) / sum(count(*)) OVER () AS share FROM {text(cells.source.node)} GROUP BY ALL) AS r"
            f" LEFT JOIN {law} AS v ON v.value IS NOT DISTINCT FROM CAST(r.reported AS VARCHAR)) AS {y}",
        ]
        selected.append(f"{true_value(attribute, x)} AS {text(attribute.name)}")
        weights.append(f"({weight_sql(attribute, f'{y}.reported', x, y)})")
        shares.append(y)
    places = [f"{y}.place AS {y}_place" for y in shares]
    share = " * ".join(f"{y}.share" for y in shares)
    inner = LINE.join(
        [
            f"SELECT {', '.join([*selected, *places])}, {' * '.join(weights)} AS {text(cells.weight)},"
            f" {share} AS {text(cells.shown)}",
            f"FROM {' CROSS JOIN '.join(tables)}",
        ]
    )
    by_shown = [f"any_value({text(cells.shown)}) AS {text(cells.shown)}"]
    of_sets = []
    for name, column in columns.items():
        h, share = text(f"{name}_h"), text(cells.shown)
        by_shown.append(
            f"coalesce(sum({text(cells.weight)}){filtered(conditions[name])}, 0) AS {h}"
        )
        law = formula(
            "law_of_product", "k", most=f"max({h})", least=f"min({h})",
            mean=f"sum({share} * {h})", square=f"sum({share} * {h} ** 2)",
        )  # fmt: skip
        of_sets.append(f"{law} AS {text(column)}")
    named = list(map(text, keys))
    grouped = select_sql(
        [*frame.selected_keys_of(keys), *by_shown],
        f"({LINE}    {inner.replace(LINE, LINE + '    ')}{LINE}) AS {text(frame.alias)}",
        frame.where,
        [*named, *(f"{y}_place" for y in shares)],
    ).replace(LINE, f"{LINE}    ")
    return select_sql([*named, *of_sets], f"({LINE}    {grouped}{LINE})", groups=named)

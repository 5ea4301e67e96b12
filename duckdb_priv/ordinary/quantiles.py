"""Quantiles: invert the estimated distribution function, made monotone; intervals invert a test.

The number of records with at most a value is a running total of counts. So is its difference from a share of all
records, whose variance is known (``windows.py``). The formulas are in ``sql/analyst/ordinary/quantiles.sql``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.aggregates import Quantile
from duckdb_priv.ordinary.frame import Frame, Steps
from duckdb_priv.ordinary.intervals import Intervals, Together
from duckdb_priv.ordinary.names import LINE, Names, parsed, same_keys, select_sql, text
from duckdb_priv.sqltext.quoting import literal
from duckdb_priv.sqltext.templates import fill, place, sections

BETWEEN = "a quantile between two values is known of numbers alone; write quantile_disc(x, 0.5)"
"""The message for a quantile of dates or texts that interpolates."""


@dataclass(frozen=True)
class Counted:
    """Counts of every value of the expression whose quantiles are requested, by group."""

    frame: Frame
    """Its only measure is the count."""
    value: str
    """The column with the value."""
    keys: tuple[str, ...]
    """The columns with the keys of the groups."""


@cache
def _sql() -> Mapping[str, str]:
    return sections("analyst/ordinary", "quantiles")


class Quantiled:
    """The steps to the quantiles of one SELECT."""

    def __init__(self, names: Names, confidence: float | None) -> None:
        self._names, self._confidence = names, confidence
        self._steps: Steps = []
        self._tables: list[tuple[str, tuple[str, ...], list[str]]] = []
        self.ends: dict[str, str] = {}
        """Columns with intervals, by column of the quantile."""

    def add(self, counted: Counted, quantiles: Mapping[str, Quantile]) -> None:
        """Add the steps of quantiles of the same value; the last step has one row for each group."""
        (measure,) = counted.frame.measures.items()
        estimates, by = self._names.fresh("values"), ""
        if counted.keys:
            by = f"PARTITION BY {', '.join(map(text, counted.keys))} "
        places = {
            "n": text(measure[0]), "value": text(counted.value), "by": by, "by_all": by.strip(),
            "estimates": text(estimates), "between": literal(BETWEEN),
        }  # fmt: skip
        taken = Names({*counted.frame.keys, measure[0], *quantiles})
        has_ends = self._confidence is not None and not measure[1].exact
        if has_ends and isinstance(self._confidence, Together):
            raise QueryRefused(
                "intervals of quantiles are not known to hold together with others",
                hint="ask for quantiles in a statement of their own, without simultaneous",
            )
        if not has_ends or self._confidence is None:
            self._steps += counted.frame.estimates(estimates)
        else:
            intervals = Intervals(counted.frame, self._confidence)
            places |= _moments(intervals, measure[0], places)
            self._steps += intervals.steps(estimates)
            taken.taken |= intervals.taken.taken
        for each in ("below", "total", "largest", "smallest", "following"):
            places[each] = text(taken.fresh(each))
        groups, columns = list(map(text, counted.keys)), list(quantiles)
        selected = groups.copy()
        for name, quantile in quantiles.items():
            one = places | {"share": f"({text(quantile.share)})"}
            kind = "descending" if quantile.descending else "discrete"
            one["quantile"] = _written("continuous" if quantile.continuous else kind, one)
            selected.append(f"{one['quantile']} AS {text(name)}")
            if has_ends:
                kind = "continuous_" if quantile.continuous else ""
                one |= {"low": place(f"{kind}lower"), "high": place(f"{kind}upper")}
                self.ends[name] = f"{name}_ends"
                columns.append(self.ends[name])
                selected.append(f"{_written('ends', one)} AS {text(self.ends[name])}")
        places["ranked"] = text(self._names.fresh("ranked"))
        monotone, result = (self._names.fresh(each) for each in ("distribution", "quantiles"))
        self._steps += [
            (places["ranked"], _written("ranked", places)),
            (monotone, _written("monotone", places)),
            (result, select_sql(selected, text(monotone), groups=groups)),
        ]
        self._tables.append((text(result), counted.keys, columns))

    def beside(self, groups: str, keys: Sequence[str], table: str) -> Steps:
        """Return the steps; the last one, ``table``, has the columns of ``groups`` and the quantiles."""
        joined, selected = f"{text(groups)} AS g", ["g.*"]
        for number, (result, theirs, columns) in enumerate(self._tables):
            same = same_keys("g", keys, f"q{number}", theirs)
            joined += f" LEFT JOIN {result} AS q{number} ON {same}"
            selected += [f"q{number}.{text(each)}" for each in columns]
        return [*self._steps, (table, select_sql(selected, joined))]


def _moments(intervals: Intervals, n: str, places: Mapping[str, str]) -> dict[str, str]:
    """Return the columns with the variances of running totals and totals of a count."""
    windows = intervals.windows
    running, total = (
        windows.replaced(parsed(f"sum({places['n']}) OVER ({over})")).name
        for over in (f"{places['by']}ORDER BY {places['value']}", places["by_all"])
    )
    return {
        "running_variance": windows.covariance(running, running),
        "covariance": windows.covariance(running, total),
        "total_variance": windows.covariance(total, total),
        "step": intervals.sums.step(n),
        "z": intervals.z,
    }


def _written(name: str, places: Mapping[str, str]) -> str:
    """Write a section with all sections that it names."""
    return fill(_sql()[name], {**_sql(), **places}).replace("\n", LINE)

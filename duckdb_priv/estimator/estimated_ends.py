"""The macros of the schema ``estimated`` that return standard errors and intervals.

The view expands each cell to every true value (``estimated_cells``). A sum over the records with one of a set of values
of one attribute has the interval of the functions of ``priv``: the same sums, the same law of the set, the same test
(``fragments/sets.sql``). For any other sum only the variance is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from duckdb_priv.estimator import estimated_names as names
from duckdb_priv.estimator.estimated_cells import FOLDER, WeightedTable
from duckdb_priv.estimator.forms import FIELD, FORMS, form_of
from duckdb_priv.estimator.lets import Chain, let, struct
from duckdb_priv.estimator.set_formulas import (
    NOTHING_HIDDEN,
    covariance_from_histogram,
    functional,
    interval,
    mean_of,
    ordinary,
    other,
    other_mean,
    quotient_steps,
    share_of_table,
)
from duckdb_priv.estimator.set_laws import SetLaws
from duckdb_priv.estimator.written import Written
from duckdb_priv.sqltext.numbers import as_number
from duckdb_priv.sqltext.templates import fill, sections

FOUND = r"(\1)."
Z = "1.959963984540054e0"
"""The quantile of the normal distribution at 95%."""


def formulas(counted: WeightedTable) -> dict[str, str]:
    """Return the sections of the aggregates, with fields of structs in parentheses."""
    found = {name: FIELD.sub(FOUND, text) for name, text in sections(FOLDER, "aggregates").items()}
    return found | {
        "row_type": names.ROW_TYPE,
        "unweighed": counted.message("unweighed"),
        "as_number": as_number("x", counted.message("numbers")),
    }


class Ends:
    """Writes the macros, for a release whose attributes have weights."""

    def __init__(self, counted: WeightedTable) -> None:
        self._attributes = counted.attributes
        self._form = form_of(counted.attributes[0])
        """The form of the first attribute. Forms within a release differ only in whether all values share their
        probabilities, and in whether weights come from the histogram."""
        self._from_histogram = any(form_of(each).from_histogram for each in counted.attributes)
        # Not the published rows: the weights of decoy groups come from all records that were ever drawn.
        drawn = counted.attributes[0].constants.get("rows", counted.rows)
        self._published = f"{float(max(drawn, 1))!r}::DOUBLE"
        self._product = len(counted.attributes) > 1 and not self._form.varied
        """Whether weights are multiplied with a known law: that of a single combination of values."""
        self._formulas = formulas(counted)
        product = " OR (len((m).set) = 1 AND len(((m).rows[1].r).factors) > 1)"
        self._formulas["product"] = product if self._product else ""

    def macros(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, arguments and text of each helper macro of the schema."""
        once = "" if self._form.weighed else "once"
        yield "_priv_row", "", self._text("row")
        yield "_priv_rows", "_c, _d", self._rows()
        yield "_priv_known", "_rows", self._known()
        yield "_priv_spread", "_rows", self._text("spread")
        yield "_priv_law", "_attribute, _set, _noisy, _factors", self._law()
        yield "_priv_count", "_estimate, _rows", self._of_one(once, "count", "e.d", "0e0")
        of_sum = self._of_one("amount", "sum", "e.c", "_estimate * 0")
        yield "_priv_sum", "_estimate, _rows", of_sum
        yield "_priv_mean", "_estimate, _count, _rows", self._mean()

    def _text(self, name: str) -> str:
        return fill(self._formulas[name], self._formulas)

    def _rows(self) -> str:
        every = self._from_histogram
        places = {
            "row": "_priv_row()",
            "coefficient": "coalesce(CASE WHEN _d THEN _c END, 0)" if every else "_c",
            "counted": "coalesce(_d, false)" if every else "true",
            "filter": "" if every else " FILTER (WHERE _d)",
        }
        return f"coalesce({fill(self._formulas['rows'], places)}, [])"

    def _known(self) -> str:
        """Write the facts about the aggregated rows, step by step."""
        text = "{rows: _rows}"
        steps = ["set", *(["chosen"] if self._from_histogram else []), "separable", "cells"]
        for each in steps:
            text = f"[{self._text(each)} FOR m IN [{text}]][1]"
        return text

    def _law(self) -> str:
        """Write the law of a set of values, by the number of the attribute."""
        cases, step = [], 1
        for number, each in enumerate(self._attributes, start=1):
            places = f"[v // {step} + 1 FOR v IN _set]"
            law = SetLaws(each.form, Written([each])).law_at(places, "_noisy")
            cases.append(f"WHEN {number} THEN {law}")
            step *= each.size
        if self._product:
            law = let("k", ordinary("law_of_product"), factors="_factors")
            cases.append(f"WHEN 0 THEN {law}")
        return f"CASE _attribute {' '.join(cases)} END"

    # The intervals. DuckDB plans the formula of a let twice, so each let is in the value of the next one.

    def _of_one(self, kind: str, unknown: str, c: str, none: str) -> str:
        """Write the interval of the sum with the coefficients ``c``; ``none`` is its error if no row is counted."""
        known = self._by_form("s", kind)
        tested = f"CASE WHEN (s).known THEN {known} ELSE {other(unknown)} END"
        found = interval(self._opened().then(("m", self._sums(c)), ("s", tested)))
        return _unless_none(str(found), none)

    def _mean(self) -> str:
        counted = "list_filter((m).rows, lambda e: (e).d)"
        products = {"product": "e.u * e.c * e.d * e.h", "squares": "e.u * e.c * e.d"}
        products["plain_squares"] = f"{self._plain} * e.c * e.d"
        given = struct(
            known="(m).known",
            attribute="(m).attribute",
            amounts=self._sums("e.c"),
            count=self._sums("e.d", "(m).count"),
            products=struct(**{name: self._summed(of) for name, of in products.items()}),
            covariance=self._covariance("e.c", "e.d"),
            published=self._published if self._from_histogram else "NULL",
            least=f"coalesce(list_min([(e).c FOR e IN {counted}]), 0e0)",
            most=f"coalesce(list_max([(e).c FOR e IN {counted}]), 0e0)",
        )
        parts = f"CASE WHEN (q).known THEN {self._by_form('q')} ELSE {other_mean().given} END"
        steps = quotient_steps(same_values=True)
        found = self._opened("_count").then(("m", given), ("q", parts), *steps)
        return _unless_none(str(found), "NULL::DOUBLE")

    def _opened(self, count: str = "0e0") -> Chain:
        """Write the struct m: the facts about the rows, and the estimates."""
        fields = ("rows", "cells", "known", "attribute", "set", "factors")
        opened = {each: f"(m).known.{each}" for each in fields}
        opened |= {each: f"(m).{each}" for each in ("estimate", "count")}
        asked = struct(known="_priv_known(_rows)", estimate="_estimate", count=count)
        return Chain(asked, ("m", struct(**opened)))

    def _by_form(self, over: str, kind: str = "") -> str:
        """Write the test input of a sum, over s, or of a mean, over q, for each attribute."""
        found: dict[str, list[str]] = {}
        for number, each in enumerate(self._attributes, start=1):
            form = form_of(each)
            text = functional(form, kind) if over == "s" else mean_of(form).given
            found.setdefault(text, []).append(str(number))
        if self._product:
            form = FORMS["scaled" if self._form.scaled else "operator"]
            tested = functional(form, kind, of_product=True)
            text = tested if over == "s" else mean_of(form, of_product=True).given
            found.setdefault(text, []).append("0")
        first, *others = found.items()
        cases = " ".join(
            f"WHEN ({over}).attribute IN ({', '.join(numbers)}) THEN {text}"
            for text, numbers in others
        )
        return f"CASE {cases} ELSE {first[0]} END" if cases else first[0]

    # Sums over the cells of m with coefficients c: e.c for a sum, e.d for a count.

    @property
    def _plain(self) -> str:
        return "e.u" if self._form.scaled else "e.n"

    @staticmethod
    def _summed(of: str) -> str:
        return f"coalesce(list_sum([{FIELD.sub(FOUND, of)} FOR e IN (m).cells]), 0)"

    def _covariance(self, c: str, d: str) -> str:
        """Write the covariance of two sums."""
        noise, both = "(e.h ** 2 - e.h)", f"{c} ** 2" if c == d else f"{c} * {d}"
        if not self._from_histogram:
            sampled = f" + e.a * {both}" if self._form.scaled else ""
            return self._summed(f"e.s * {noise} * {both}{sampled}")
        shrinkage = "(_priv_law((m).attribute, (m).set, 0e0, (m).factors)).shrinkage"
        times = (f" * {both}", f" * {c}", f" * {d}", "")
        noises = [self._summed(f"e.s * {noise}{each}") for each in times]
        totals, rows = [self._summed(f"e.n * {each}") for each in (c, d)], self._summed("e.n")
        return covariance_from_histogram(noises, totals, [shrinkage] * 2, rows, self._published)

    def _share(self, c: str) -> str:
        if not self._from_histogram:
            return "0e0"
        total, squares = self._summed(f"e.n * {c}"), self._summed(f"e.n * {c} ** 2")
        return share_of_table(total, squares, self._published)

    def _sums(self, c: str, estimate: str = "(m).estimate") -> str:
        """Write the struct from which a sum and its interval are computed; for other sums, only its variance."""
        counts = c == "e.d"
        largest = FIELD.sub(FOUND, f"e.o * abs({c})")
        noisy = "0e0"
        if self._form.varied:
            twice, once = (self._summed(f"{each} * {c} ** 2") for each in ("e.u ** 2 / e.n", "e.u"))
            noisy = f"coalesce({twice} / nullif({once}, 0), 0)"
        return struct(
            known="(m).known",
            attribute="(m).attribute",
            of_other="CASE WHEN NOT (m).known THEN _priv_spread((m).rows) END",
            estimate=estimate,
            variance=self._covariance(c, c),
            total=self._summed(f"e.n * {c if counts else f'greatest({c}, 0)'}"),
            opposite="0e0" if counts else self._summed(f"e.n * greatest(-{c}, 0)"),
            law=f"CASE WHEN (m).known THEN _priv_law((m).attribute, (m).set, {noisy}, (m).factors) END",
            share=self._share(c),
            z=Z,
            **NOTHING_HIDDEN,
            doubled=self._summed(f"e.u * {c} ** 2 * e.h"),
            squares=self._summed(f"e.u * {c} ** 2"),
            plain_squares=self._summed(f"{self._plain} * {c} ** 2"),
            largest=f"coalesce(list_max([{largest} FOR e IN (m).cells]), {'1e0' if counts else '0e0'})",
        )


def _unless_none(interval: str, known: str) -> str:
    """Write an interval over _rows; if none of them is counted, its ends and its standard error are known."""
    none = struct(estimate="_estimate", stderr=known, low=known, high=known)
    return f"CASE WHEN list_bool_or([e.d FOR e IN _rows]) THEN {interval} ELSE {none} END"

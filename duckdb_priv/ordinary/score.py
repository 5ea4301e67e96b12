"""Score intervals of counts: those of priv.reconstructed_interval, for sets of values too.

They need to know how the variance changes with the true count, and how far one report moves the estimate. For a set of
values of one attribute both follow from two probabilities: that a record reports one of the set if it has one of it,
and if it has none (``laws``). Source: Wilson (1927); ``mechanism/score_interval.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from duckdb_priv.estimator.forms import INTERVAL
from duckdb_priv.ordinary.frame import filtered, select_sql
from duckdb_priv.ordinary.law import true_value, weight_sql
from duckdb_priv.ordinary.names import LINE, fresh, text
from duckdb_priv.ordinary.noise import FROM_HISTOGRAM, TRUTH_IS_RANDOM, formula, inflation
from duckdb_priv.ordinary.records import Records
from duckdb_priv.release.model import Blocks

TERMS = ("slope", "half_step", "scatter", "most_scatter", "upward", "downward")
"""What an interval needs to know besides the variance, as the catalog calls it."""
WITH_TERMS = ("rank_one", "singular", "operator", "conditional_poisson")
"""Forms whose terms stand in the catalog, for single values."""
TABLE = "_priv_laws"
"""Where the laws stand among the tables."""


class Score:
    """The score intervals of one SELECT."""

    def __init__(self, records: Records) -> None:
        self._records, self._frame = records, records.frame
        self.laws: dict[str, str] = {}
        """Columns of the laws, by the counts that they are of."""

    def ends(self, name: str, z: str) -> str | None:
        """Write the ends of a count's interval; none where it has no score interval."""
        if self._frame.joined:
            return None
        if self._frame.release.sampled:
            moments = self._of_sample(name)
        elif self._records.form in TRUTH_IS_RANDOM:
            moments = self._of_groups(name)
        elif self._has_law(name):
            moments = self._of_reports(name)
        else:
            return None
        none = ("zero", "slack", "upward", "downward", "certain", "hidden", "hidden_spread")
        absent = dict.fromkeys(none, "0e0")
        fields = ", ".join(f"{each}: {sql}" for each, sql in (absent | moments).items())
        return f"[{INTERVAL} FOR i IN [{{estimate: {text(name)}, {fields}, z: {z}}}]][1]"

    def _has_law(self, name: str) -> bool:
        """Whether a count is of a set of values of one attribute, chosen by nothing else."""
        return (
            self._records.one_attribute
            and self._frame.separable
            and not self._frame.subtotals
            and self._records.measures[name].of_attribute
        )

    def _total(self, name: str) -> str:
        cell = self._records.cell(self._records.measures[name].cell)
        return self._records.estimates.take(f"coalesce(sum({cell}), 0)", "rows")

    def _of_sample(self, name: str) -> dict[str, str]:
        """Of records that show the truth, and are there with a known probability."""
        own, k = self._records.constant("beta"), self._records.constant("k")
        # Which classes a condition leaves is not worked out: all that the levels allow may hide some.
        classes = self._records.constant("classes")
        rows = self._records.cell(
            self._frame.cells.sum((), self._records.measures[name].before, "1")
        )
        certain = f"coalesce(sum({rows} * {self._records.weighed(name)}), 0)"
        return {
            "variance": self._records.covariance(name, name),
            "slope": f"(1 - {own}) / {own}",
            "half_step": f"0.5 / {own}",
            "upward": f"(1 - 2 * {own}) / {own}",
            "downward": f"(2 * {own} - 1) / {own}",
            "certain": self._records.estimates.take(certain, "certain"),
            "hidden": f"{classes} * {k} / {own}",
            "hidden_spread": f"sqrt({classes}) * (sqrt({k}) + 2) / {own}",
            "total": "'inf'::DOUBLE",
        }

    def _of_groups(self, name: str) -> dict[str, str]:
        """Of true values that vary, given what is published."""
        total = self._total(name)
        if self._records.form == "listed":
            cell = self._records.cell(self._records.measures[name].cell)
            holders = f"coalesce(sum({cell}) FILTER (WHERE {self._records.weighed(name)} > 0), 0)"
            total = self._records.estimates.take(holders, "holders")
        return {
            "variance": (variance := self._records.covariance(name, name)),
            "zero": variance,
            "slope": "0e0",
            "half_step": "0.5e0",
            "total": f"{total}::DOUBLE",
        }

    def _of_reports(self, name: str) -> dict[str, str]:
        """Of reports that vary, given the true values."""
        if name not in self.laws:
            self.laws[name] = fresh("law", self._records.taken)
            self._records.taken.add(self.laws[name])
        law = f"{TABLE}.{text(self.laws[name])}"
        total = f"{self._total(name)}::DOUBLE"
        variance, slope = self._records.covariance(name, name, raw=True), f"{law}.slope"
        floor = f"greatest({total} - 1, 0) * {law}.scatter + {law}.most_scatter"
        moments = {
            "variance": variance,
            "slope": slope,
            "half_step": f"{law}.half_step",
            "zero": floor,
            "upward": f"{law}.upward",
            "downward": f"{law}.downward",
            "total": total,
        }
        if self._records.form in FROM_HISTOGRAM:
            share = self._records.estimates.take(
                f"least({self._records.rows(name)} / {self._records.constant('rows')}, 1)", "share"
            )
            kept = formula("kept", share=share, k=f"{law}.shrinkage")
            variance, floor = f"{kept} * {variance}", f"{kept} * ({floor})"
            slope = f"(1 - {share} * {law}.shrinkage ** 2) * {law}.slope"
            moments |= {"variance": variance, "slope": slope}
        if self._records.form in (*WITH_TERMS, *FROM_HISTOGRAM):
            nearest = f"least(greatest({text(name)}, 0), {total})"
            moments["zero"] = f"greatest({variance} - {slope} * {nearest}, {floor})"
        if self._records.form in ("scaled", "duplicated"):
            moments |= self._of_scales(name, law)
        elif self._frame.cells.scale_key:
            moments |= self._by_row(name, law)
        return moments

    def _of_scales(self, name: str, law: str) -> dict[str, str]:
        """What rows that stand for several records each change, or that appear several times."""
        records, cells = self._records, self._frame.cells
        of, scale = records.measures[name], cells.given_scale
        copied = records.form == "duplicated"
        inflated = inflation(scale)
        squares = records.cell(cells.sum((), of.before, inflated if copied else f"{scale} ** 2"))
        heaviest: exp.Expr = exp.maybe_parse(inflated if copied else scale, dialect="duckdb")
        largest = records.cell(cells.aggregate("max", heaviest, of.before))
        take = records.estimates.take
        typical = take(
            f"coalesce(sum({squares}) / nullif(sum({records.cell(of.cell)}), 0), 1)", "typical"
        )
        biggest = take(f"coalesce(max({largest}), 1)", "largest")
        doubled = take(f"coalesce(sum({squares} * {records.weighed(name)}), 0)", "doubled")
        total = f"round({self._total(name)}, 6)"
        if copied:
            more = records.cell(
                cells.sum((), of.before, f"CASE WHEN {scale} > 1 THEN 1 ELSE 0 END")
            )
            total = f"({self._total(name)} + {take(f'coalesce(sum({more}), 0)', 'copied')})::DOUBLE"
        variance = records.covariance(name, name, raw=True)
        excess = f"{law}.spread * greatest({typical} * {text(name)} - {doubled}, 0)"
        return {
            "slope": f"{law}.spread * {typical}",
            "half_step": f"{biggest} * {law}.half_step",
            "zero": f"{variance} + {excess} - {law}.spread * {typical} * {text(name)}",
            "upward": f"{law}.upward * {biggest}",
            "downward": f"{law}.downward * {biggest}",
            "slack": f"{law}.spread * ({biggest} - {typical})",
            "total": total,
        }

    def _by_row(self, name: str, law: str) -> dict[str, str]:
        """What rows change that are perturbed as far as their scale u says; the law is that of u = 1.

        As in sql/analyst/estimators/by_group.sql, for k values of m: the law's slope is m - 2 k, and its scatter
        k + k (m - k).
        """
        records, cells = self._records, self._frame.cells
        of, scale = records.measures[name], cells.given_scale
        scales = records.cell(cells.sum((), of.before, scale))
        squares = records.cell(cells.sum((), of.before, f"{scale} ** 2"))
        take, (attribute,) = records.estimates.take, cells.attributes.values()
        once = take(f"coalesce(sum({scales}), 0)", "scales")
        twice = take(f"coalesce(sum({squares}), 0)", "squares")
        doubled = take(f"coalesce(sum({scales} * {records.weighed(name)}), 0)", "doubled")
        total = f"{self._total(name)}::DOUBLE"
        typical = f"coalesce({once} / nullif({total}, 0), 0)"
        noisy = f"coalesce({twice} / nullif({once}, 0), 0)"
        values = f"({attribute.size} - {law}.slope) / 2"
        excess = f"{law}.slope * ({doubled} - {typical} * {text(name)})"
        return {
            "slope": f"{law}.slope * {typical}",
            "half_step": f"(1 + {attribute.size} * {noisy}) / 2",
            "zero": f"{values} * ({once} + ({attribute.size} - {values}) * {twice}) + greatest({excess}, 0)",
            "upward": f"1 + {law}.slope * {noisy}",
            "downward": f"1 - {law}.slope * {noisy}",
        }

    # The laws themselves.

    @property
    def keys(self) -> list[str]:
        """Group keys that the laws depend on."""
        return [name for name in self._frame.keys if name in self._frame.sensitive_keys]

    @property
    def numbers(self) -> list[str]:
        """What the laws read of the catalog besides the numbers of the weights."""
        form = self._records.form
        of_value = ["own", "other"] if form == "conditional_poisson" else []
        if form not in WITH_TERMS:
            return of_value
        frame = self._frame
        there = frame.connection.columns(
            exp.maybe_parse(
                f"{frame.connection.catalog_of(frame.release)}.coefficient",
                into=exp.Table,
                dialect="duckdb",
            )
        )
        return [*of_value, *(each for each in TERMS if each in there)]

    def sql(self, laws: Mapping[str, str]) -> str:
        """Write the query of the laws: one line for each set of values that is a group."""
        (attribute,) = self._frame.cells.attributes.values()
        table, cells = text(laws[attribute.name]), self._frame.cells
        # All values have the same two numbers where blocks are reported, which have none.
        read = ["own", "other"] if attribute.blocks else self.numbers
        of = "x" if attribute.blocks else "y"
        numbers = "".join(f", {of}.{each} AS y_{each}" for each in read)
        reports = (
            f"(SELECT unnest(range({attribute.blocks.count}))::INTEGER AS position)"
            if attribute.blocks
            else table
        )
        pairs = (
            f"SELECT {true_value(attribute, 'x')} AS {text(attribute.name)}, y.position AS y_position,"
            f" {weight_sql(attribute, 'y.position')} AS {text(cells.weight)},"
            f" x.position = y.position AS {text(cells.shown)}"
            f"{numbers}{LINE}    FROM {table} AS x CROSS JOIN {reports} AS y"
        )
        by_report, of_sets = [], []
        for name, law in self.laws.items():
            when = filtered(self._records.measures[name].conditions)
            h, within = text(f"{name}_h"), text(f"{name}_in")
            found = "count(*)" if attribute.blocks else f"bool_or({text(cells.shown)})"
            none = "0" if attribute.blocks else "false"
            by_report += [
                f"coalesce(sum({text(cells.weight)}){when}, 0) AS {h}",
                f"coalesce({found}{when}, {none}) AS {within}",
            ]
            of_set = (
                self._of_blocks(attribute.blocks, h, within)
                if attribute.blocks
                else self._of_set(h, within)
            )
            of_sets.append(f"{of_set} AS {text(law)}")
        by_report += [f"any_value(y_{each}) AS y_{each}" for each in read]
        keys = list(map(text, self.keys))
        of_reports = select_sql(
            [*self._frame.selected_keys_of(self.keys), *by_report],
            f"({LINE}    {pairs}{LINE}) AS {text(self._frame.alias)}",
            self._frame.where,
            [*keys, "y_position"],
        ).replace(LINE, f"{LINE}    ")
        return select_sql([*keys, *of_sets], f"({LINE}    {of_reports}{LINE})", groups=keys)

    def _of_blocks(self, blocks: Blocks, h: str, within: str) -> str:
        """Write the law of a set from what each block counts, ``h``, and how many values the set has."""
        return formula(
            "law_of_blocks",
            "k",
            h=f"list({h})",
            size=f"any_value({within})",
            own="any_value(y_own)",
            other="any_value(y_other)",
            blocks=str(blocks.count),
            stride=str(blocks.stride),
            held=str(len(blocks.first)),
        )

    def _of_set(self, h: str, within: str) -> str:
        """Write the law of a set from what each report counts, ``h``, and whether it is one of the set."""
        own = dict.fromkeys((*TERMS, "shrinkage"), "NULL::DOUBLE")
        of_value: dict[str, str] = {}
        for each in TERMS:
            if each in self.numbers:
                of_value[each] = f"y_{each}"
        if "own" in self.numbers:
            of_value["shrinkage"] = "1 - y_own + y_other"
        for each, number in of_value.items():
            only = f"max({number}) FILTER (WHERE {within})"
            own[each] = f"CASE WHEN count_if({within}) = 1 THEN {only} END"
        return formula(
            "law",
            "k",
            inside=f"avg({h}) FILTER (WHERE {within})",
            outside=f"avg({h}) FILTER (WHERE NOT {within})",
            **own,
        )

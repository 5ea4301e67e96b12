"""Write what the tests of counts, sums and means read (``analyst/fragments/sets.sql``), from sums over records.

A sum over the records with one of a set of values of one attribute has the test of the functions of ``priv``, from how
the variance changes with the true count and how much one report changes the estimate. Both follow from the law of the
set: the probabilities that a record reports one of the set, if it has one and if it has none. For combinations of
several attributes' values, the law is the distribution of what a record adds to the count. For other sums, only the
variance is known. Source: Wilson (1927); ``mechanism/score_interval.md``, ``mechanism/comparison.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from sqlglot import exp

from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.estimator.lets import Chain, let, struct
from duckdb_priv.estimator.set_formulas import (
    NOTHING_HIDDEN,
    TERMS,
    covariance_from_histogram,
    functional,
    law_of_sample,
    law_of_scales,
    mean_of,
    ordinary,
    other,
    other_mean,
    share_of_table,
)
from duckdb_priv.ordinary.frame import Measure
from duckdb_priv.ordinary.names import (
    all_of,
    column_names,
    filtered,
    indented,
    parsed,
    select_sql,
    text,
)
from duckdb_priv.ordinary.published import Attribute
from duckdb_priv.ordinary.records import (
    Records,
    inflation,
)

WITH_TERMS = ("rank_one", "singular", "operator", "conditional_poisson", "batches")
"""Forms whose catalog has ``TERMS`` for single values."""
TABLE = "_priv_laws"
"""The placeholder for the laws among the tables."""
Factors = Sequence[exp.Expr]
"""Public values that are multiplied, or public conditions that all hold."""
MOST = 20_000_000
"""Maximum number of combinations of true and shown values. With more, only the variance of a count is known."""


class Laws:
    """The laws of the sets that one SELECT counts, one row for each group that depends on attributes."""

    def __init__(self, records: Records) -> None:
        self._records, self._frame = records, records.frame
        self._attributes = list(self._frame.cells.attributes.values())
        parts = ("place", "share", "own", "other", "known")
        self._of_report = {each: records.taken.fresh(f"y_{each}") for each in parts}
        """Names of the columns of a report: its number, its share, and what the catalog says of it."""
        self.columns: dict[str, str] = {}
        """Columns of the laws, by count."""
        self.keys = [name for name in self._frame.keys if name in self._frame.sensitive_keys]
        """Group keys on which the laws depend."""
        self.of_product = (
            len(self._attributes) > 1
            and self._frame.separable
            and not (self._frame.joined or self._frame.subtotals or self._frame.partly_unknown)
            and not any(each.traits.varied or each.traits.baseline for each in self._attributes)
            and prod(each.size * _shown(each) for each in self._attributes) <= MOST
        )
        """Whether sets are of combinations of several attributes' values, and their law can be computed."""

    def of(self, name: str) -> str:
        """Return the law of a count."""
        if name not in self.columns:
            self.columns[name] = self._records.taken.fresh("law")
        return f"{TABLE}.{text(self.columns[name])}"

    @property
    def numbers(self) -> list[str]:
        """Names of the catalog's numbers that the laws read besides those of the weights."""
        if not self.columns:
            return []
        form = self._records.form
        of_value = ["own", "other"] if form == "conditional_poisson" else []
        if form not in WITH_TERMS:
            return of_value
        there = self._frame.connection.numbers(self._frame.cells.release)
        return [*of_value, *(each for each in TERMS if each in there)]

    def sql(self) -> str:
        """Write the query of the laws."""
        measures, where = self._records.measures, self._frame.where
        every = {name: measures[name].conditions for name in self.columns}
        if not self.of_product:
            return self._part(self._attributes, self.keys, where, every)
        # A set of all combinations of some values of each attribute has a factor for each attribute.
        key_of = {key: self._attribute_of(parsed(self._frame.keys[key])) for key in self.keys}
        chosen = {} if None in key_of.values() else self._by_attribute(where)
        split = {name: self._by_attribute(each) for name, each in every.items()}
        apart = {name: each for name, each in split.items() if each and chosen}
        together = {name: each for name, each in every.items() if name not in apart}
        parts: list[tuple[str, list[str]]] = []
        for attribute in self._attributes if apart else ():
            keys = [key for key, name in key_of.items() if name == attribute.name]
            conditions = {name: each[attribute.name] for name, each in apart.items()}
            query = self._part([attribute], keys, chosen[attribute.name], conditions)
            parts.append((query, keys))
        if together:
            parts.append((self._part(self._attributes, self.keys, where, together), self.keys))
        return self._joined(parts, apart)

    def _joined(self, parts: Sequence[tuple[str, list[str]]], apart: Collection[str]) -> str:
        """Write the query of the laws of products from their factors.

        Each part has the factors of one attribute, of the sets that are ``apart``; the last one, those of the others.
        """
        tables: list[str] = []
        found: dict[str, str] = {}
        for number, (query, keys) in enumerate(parts):
            table = f"l{number}"
            same = [
                f"{found[key]} IS NOT DISTINCT FROM {table}.{text(key)}"
                for key in keys
                if key in found
            ]
            found = {key: f"{table}.{text(key)}" for key in keys} | found
            condition = f" ON {all_of(same) or 'true'}" if tables else ""
            tables.append(f"{indented(query)} AS {table}{condition}")
        columns = [found[key] for key in self.keys]
        for name, law in self.columns.items():
            numbers = range(len(self._attributes)) if name in apart else [len(parts) - 1]
            factors = ", ".join(f"l{number}.{text(law)}" for number in numbers)
            formula = let("k", ordinary("law_of_product"), factors=f"[{factors}]")
            columns.append(f"{formula} AS {text(law)}")
        return select_sql(columns, " JOIN ".join(tables))

    def _attribute_of(self, expression: exp.Expr) -> str | None:
        """Return the only attribute in an expression; None if it has several."""
        columns = column_names(expression)
        found = [each.name for each in self._attributes if each.name.lower() in columns]
        return None if found[1:] else found[0] if found else self._attributes[0].name

    def _by_attribute(self, conditions: Iterable[str]) -> Mapping[str, list[str]]:
        """Return conditions that all hold by the attribute on which each depends; none if one depends on several."""
        found: dict[str, list[str]] = {each.name: [] for each in self._attributes}
        for condition in map(parsed, conditions):
            every = condition.unnest()
            for each in every.flatten() if isinstance(every, exp.And) else [every]:
                attribute = self._attribute_of(each)
                if attribute is None:
                    return {}
                found[attribute].append(text(each))
        return found

    def _part(
        self,
        attributes: Sequence[Attribute],
        keys: Sequence[str],
        where: Sequence[str],
        conditions: Mapping[str, Sequence[str]],
    ) -> str:
        """Write the query of what reports of some attributes count for each set, by group keys on these attributes."""
        cells, by_report, of_sets = self._frame.cells.of_attributes(attributes), [], []
        reports, carried = self._reports(attributes)
        for name, met in conditions.items():
            when = filtered(met)
            h, within = (text(self._records.taken.fresh(f"{name}_{each}")) for each in ("h", "in"))
            by_report.append(f"coalesce(sum({text(cells.weight)}){when}, 0) AS {h}")
            if not self.of_product:
                shown = f"bool_or({text(cells.shown)})"
                found, none = ("count(*)", "0") if self._blocks else (shown, "false")
                by_report.append(f"coalesce({found}{when}, {none}) AS {within}")
            of_sets.append(f"{self._of_set(h, within)} AS {text(self.columns[name])}")
        classes = replace(self._frame, cells=cells, partly_unknown=False).classes(
            indented(reports), [self._of_report["place"], *carried]
        )
        by_report += [f"any_value({each}) AS {each}" for each in carried]
        groups = list(map(text, keys))
        of_reports = select_sql(
            [*self._frame.selected_keys_of(keys), *by_report],
            f"{indented(classes)} AS {text(cells.source.alias)}",
            where,
            [*groups, self._of_report["place"]],
        )
        return select_sql([*groups, *of_sets], indented(of_reports), groups=groups)

    @property
    def _blocks(self) -> bool:
        return not self.of_product and self._attributes[0].blocks is not None

    def _reports(self, attributes: Sequence[Attribute]) -> tuple[str, list[str]]:
        """Write the possible reports as cells, with columns that are carried along to their laws."""
        y = self._of_report
        if self.of_product:
            source, tables, columns, shares = self._frame.cells.source, [], [], []
            for number, each in enumerate(attributes):
                column, r = text(each.column), f"r{number}"
                selected = [
                    f"{text(source.alias)}.{column}",
                    "count(*) / sum(count(*)) OVER () AS share",
                ]
                shown = select_sql(selected, text(source.node), groups=["ALL"])
                tables.append(f"{indented(shown)} AS {r}")
                columns.append(f"{r}.{column}")
                shares.append(f"{r}.share")
            columns.append(f"{' * '.join(shares)} AS {y['share']}")
            columns.append(f"row_number() OVER () AS {y['place']}")
            return select_sql(columns, " CROSS JOIN ".join(tables)), [y["share"]]
        (attribute,) = self._attributes
        law, column = text(self._frame.laws[attribute.name]), text(attribute.column)
        if attribute.blocks:
            selected = [f"b AS {column}", f"b AS {y['place']}"]
            selected += [f"own AS {y['own']}", f"other AS {y['other']}"]
            numbers = f"(SELECT any_value(own) AS own, any_value(other) AS other FROM {law})"
            tables = [f"range({attribute.blocks.count}) AS t(b)", numbers]
            return select_sql(selected, " CROSS JOIN ".join(tables)), [y["own"], y["other"]]
        known, there = dict.fromkeys((*TERMS, "shrinkage"), "NULL::DOUBLE"), self.numbers
        known |= {each: each for each in TERMS if each in there}
        if "own" in there:
            known["shrinkage"] = "1 - own + other"
        selected = [f"value AS {column}", f"position AS {y['place']}"]
        selected.append(f"{struct(**known)} AS {y['known']}")
        if self._frame.cells.scale_key:
            selected.append(f"1 AS {text(self._frame.cells.scale_key)}")
        return select_sql(selected, law), [y["known"]]

    def _of_set(self, h: str, within: str) -> str:
        """Write the law of a set, or a factor of it, from the weight ``h`` of each report.

        ``within``: is it in the set, or the size.
        """
        blocks, y = self._attributes[0].blocks, self._of_report
        if self.of_product:
            share = y["share"]
            return struct(
                most=f"max({h})", least=f"min({h})", mean=f"sum({share} * {h})",
                square=f"sum({share} * {h} ** 2)",
            )  # fmt: skip
        if blocks is not None:
            law, given = "law_of_blocks", {"h": f"list({h})", "size": f"any_value({within})"}
            given |= {each: f"any_value({y[each]})" for each in ("own", "other")}
            given |= {"blocks": str(blocks.count), "stride": str(blocks.stride)}
            given["held"] = str(len(blocks.first))
        else:
            known = f"any_value({y['known']}) FILTER (WHERE {within})"
            law, given = "law", {"known": f"CASE WHEN count_if({within}) = 1 THEN {known} END"}
            given["inside"] = f"avg({h}) FILTER (WHERE {within})"
            given["outside"] = f"avg({h}) FILTER (WHERE NOT {within})"
        return let("k", ordinary(law), **given)


class Sums:
    """The sums of one SELECT, with the normal quantile ``z`` of their tests."""

    def __init__(self, records: Records, z: str) -> None:
        self._records, self._frame, self._z = records, records.frame, z
        self.laws = Laws(records)
        self._product = self.laws.of_product
        # Of several attributes, only what a row represents matters.
        several = "scaled" if self._frame.cells.release.weighed else "operator"
        self._form = FORMS[several if self._product else records.form or "sample"]

    def functional(self, name: str) -> str:
        """Write the test input of a count or a sum."""
        of, known = self._records.measures[name], self._has_test(name)
        if known and not self._records.traits.baseline:
            tested = functional(self._form, self._kind(of), of_product=self._product)
            return let("s", tested, **self._sums(name))
        given = self._other(name, of_groups=known)
        return let("s", other("count" if of.counts else "sum"), **given)

    def mean(self, total: str, count: str) -> str | None:
        """Write the interval of a quotient that is the mean of an amount; None if it is no such mean."""
        measures = self._records.measures
        if not {total, count} <= measures.keys() or not measures[count].counts:
            return None
        if self._is_mean_of_set(total, count):
            given = struct(**self._mean_of_set(total, count))
            return str(mean_of(self._form, of_product=self._product).over(Chain(given), "q"))
        if measures[total].counts:
            return None
        amounts = self._other(total)
        amounts["of_other"] = struct(
            variance=self.covariance(total, total),
            covariance=self.covariance(total, count),
            # As the covariance: by the histogram's noise in each value, not in the set of values.
            of_count=self._records.covariance(count, count),
        )
        least, counted = self._records.least(total), struct(**self._other(count))
        given = struct(amounts=struct(**amounts), count=counted, least=least)
        return str(other_mean().over(Chain(given), "q"))

    def covariance(self, one: str, two: str, sign: str = "1") -> str:
        """Write the covariance of two sums; of one with itself, its variance.

        The term that sampling can add is the same for two sums over the same values. Otherwise it may have the other
        sign, so it gets the ``sign`` of the product of the factors.
        """
        records, cells = self._records, self._frame.cells
        of, and_of = records.measures[one], records.measures[two]
        if records.form == "scaled" and one != two:
            same = (of.conditions, of.factors) == (and_of.conditions, and_of.factors)
            sampled = records.sampling(one, two)
            return (
                f"({records.covariance(one, two)} + {sampled if same else f'({sign}) * {sampled}'})"
            )
        if (
            self._product
            or not records.traits.from_histogram
            or not (self._is_known(of) and self._is_known(and_of))
        ):
            return records.covariance(one, two)
        both = tuple(dict.fromkeys((*of.before, *and_of.before)))
        pairs = [((*of.public, *and_of.public), both), (of.public, of.before)]
        pairs += [(and_of.public, and_of.before), ((), ())]
        noises = [
            f"{records.cell(cells.sum(public, before))} * {records.noise(one, two)}"
            for public, before in pairs
        ]
        return covariance_from_histogram(
            [records.summed(each, "noise") for each in noises],
            [self._total(of), self._total(and_of)],
            [f"{self.laws.of(each)}.shrinkage" for each in (one, two)],
            self._sum("rows"),
            records.constant("rows"),
        )

    def step(self, name: str) -> str:
        """Return the column with the most that one record can change a count or sum."""
        weighed = self._records.weighed(name)
        return self._records.estimates.take(f"coalesce(max({weighed}) - min({weighed}), 0)", "step")

    def _other(self, name: str, *, of_groups: bool = False) -> dict[str, str]:
        """Return the fields of a sum of which only the variance is known, and of a count what a record adds to it.

        Where true values are random given the published ones, groups determine the variance ``of_groups``.
        """
        records, of = self._records, self._records.measures[name]
        variance = records.covariance(name, name)
        given = {"estimate": text(name), "z": self._z}
        if not of.counts:
            return given | {"of_other": struct(variance=variance)}
        low, high, most = "0e0", "1e0", "'inf'::DOUBLE"
        if of_groups:
            most = self._total(of)
            if records.form == "listed":
                added = records.cell(of.cell)
                holders = f"coalesce(sum({added}) FILTER (WHERE {records.weighed(name)} > 0), 0)"
                most = records.estimates.take(holders, "holders")
        else:
            weighed = records.weighed(name)
            low, high = (records.estimates.take(f"{e}({weighed})", e) for e in ("min", "max"))
            if not self._frame.joined:
                most = records.summed(records.cell(of.cell), "rows")
        found = struct(of_count=variance, low=low, high=high, records=f"{most}::DOUBLE")
        return given | {"of_other": found}

    def _has_test(self, name: str) -> bool:
        return not self._frame.joined and self._is_known(self._records.measures[name])

    def _is_known(self, of: Measure) -> bool:
        """Whether a sum adds public values over records with one of a set of values of one attribute."""
        if of.factors:
            return False
        return self._frame.cells.release.sampled or (
            (self._records.one_attribute or self._product)
            and self._frame.separable
            and not self._frame.subtotals
            and of.of_attribute
        )

    def _is_mean_of_set(self, total: str, count: str) -> bool:
        of, counted = self._records.measures[total], self._records.measures[count]
        known = {text(each) for each in of.before}
        more = [each for each in counted.before if text(each) not in known]
        return (
            bool(of.public)
            and self._has_test(total)
            and self._has_test(count)
            and of.conditions == counted.conditions
            and all(_is_there(each, of.public) for each in more)
            and not self._records.traits.baseline
        )

    def _mean_of_set(self, total: str, count: str) -> dict[str, str]:
        """Return the fields from which a mean and its interval are computed."""
        records, cells = self._records, self._frame.cells
        of, counted = records.measures[total], records.measures[count]
        amount, ends = parsed(" * ".join(map(_double, of.public))), {}
        for name, which in (("least", "min"), ("most", "max")):
            found = records.cell(cells.aggregate(which, amount.copy(), counted.before))
            ends[name] = records.estimates.take(f"{which}({found})", which)
        products = self._products(total, of.public, counted.before)
        return ends | {
            "amounts": struct(**self._sums(total, once=False)),
            "count": struct(**self._sums(count, once=False)),
            "products": struct(product=products.pop("doubled"), **products),
            "covariance": self.covariance(total, count),
            "published": records.constant("rows") if self._form.from_histogram else "NULL",
        }

    def _kind(self, of: Measure) -> str:
        """Return the ``kind`` argument of ``functional`` for a sum."""
        if of.public:
            return "amount"
        return "copied" if self._form.copied else "" if self._form.weighed else "once"

    def _sums(self, name: str, *, once: bool | None = None) -> dict[str, str]:
        """Return the fields from which a sum and its interval are computed, as in sql/analyst/fragments/sets.sql."""
        of, form = self._records.measures[name], self._form
        sampled = NOTHING_HIDDEN
        if not form.perturbed:
            # The classes that meet a condition are not computed: every possible class may hide records.
            sampled = {each: self._records.constant(each) for each in sampled}
        given = {
            "estimate": text(name),
            "variance": self.covariance(name, name),
            "total": f"{self._total(of)}::DOUBLE",
            "opposite": "0e0",
            "law": self._law(name),
            "share": self._share(of),
            "z": self._z,
            **sampled,
        }
        if of.public:
            product = " * ".join(_double(each) for each in of.public)
            above, below = (parsed(f"{product} {sign} 0") for sign in "><")
            given["total"] = self._total(of, above)
            given["opposite"] = f"-{self._total(of, below)}"
        if self._kind(of) == "once" if once is None else once:
            return given
        copied = "0e0"
        if form.copied:
            copies = f"CASE WHEN {self._frame.cells.given_scale} > 1 THEN 1 ELSE 0 END"
            copied = self._sum("copied", (), of.before, copies)
        return given | {
            **self._products(name, (*of.public, *of.public), of.before),
            "largest": self._largest(of),
            "copied": copied,
        }

    def _total(self, of: Measure, *also: exp.Expr) -> str:
        """Return the column with the sum of public values over all records that meet public conditions."""
        return self._sum("rows", of.public, (*of.before, *also))

    def _sum(
        self, stem: str, factors: Factors = (), before: Factors = (), count: str | None = None
    ) -> str:
        """Return the column with a sum over the published rows, as `Cells.sum` has it."""
        cell = self._frame.cells.sum(factors, before, count)
        return self._records.summed(self._records.cell(cell), stem)

    def _products(self, name: str, factors: Factors, before: Factors) -> dict[str, str]:
        """Return the sums of products of the coefficients, times a factor for copies, weight or perturbation."""
        cells, records, form = self._frame.cells, self._records, self._form
        count = plain = "1"
        if form.copied:
            count = plain = inflation(cells.given_scale)
        elif form.scaled:
            count = plain = f"{cells.given_scale} ** 2"
        elif form.varied:
            count = cells.given_scale
        squares = cells.sum(factors, before, count)
        return {
            "doubled": records.summed(
                f"{records.cell(squares)} * {records.weighed(name)}", "doubled"
            ),
            "squares": self._sum("squares", factors, before, count),
            "plain_squares": self._sum("squares", factors, before, plain),
        }

    def _largest(self, of: Measure) -> str:
        cells, form = self._frame.cells, self._form
        scale = cells.given_scale if form.scaled else ""
        factors = [*map(_double, of.public), inflation(scale) if form.copied else scale]
        product = " * ".join(each for each in factors if each)
        if not product:
            return "1e0"
        cell = self._records.cell(cells.aggregate("max", parsed(f"abs({product})"), of.before))
        least = "0" if of.public else "1"
        return self._records.estimates.take(f"coalesce(max({cell}), {least})", "largest")

    def _share(self, of: Measure) -> str:
        if not self._form.from_histogram:
            return "0e0"
        squares = self._sum("squares", (*of.public, *of.public), of.before)
        return share_of_table(self._total(of), squares, self._records.constant("rows"))

    def _law(self, name: str) -> str:
        """Write the law of a set of values."""
        if not self._form.perturbed:
            return law_of_sample(self._records.constant("beta"))
        law = self.laws.of(name)
        if not self._form.varied:
            return law
        # Rows are perturbed by their scale u. The law is for u = 1, with the slope m - 2 k.
        of, cells = self._records.measures[name], self._frame.cells
        (attribute,), scale = cells.attributes.values(), cells.given_scale
        once, twice = (
            self._sum("scales", (*of.public, *of.public), of.before, count)
            for count in (scale, f"{scale} ** 2")
        )
        noisy = f"coalesce({twice} / nullif({once}, 0), 0)"
        # All rows count the same for a set of all values, and for one of none.
        return law_of_scales(f"{law}.slope", str(attribute.size), noisy, f"{law}.half_step = 0")


def _shown(attribute: Attribute) -> int:
    return attribute.blocks.count if attribute.blocks else attribute.size


def _double(value: exp.Expr) -> str:
    # Sums of what is no number raise their own error (Cells.sum).
    return f"TRY_CAST({text(value)} AS DOUBLE)"


def _is_there(condition: exp.Expr, amounts: Factors) -> bool:
    """Whether a condition says that a part of the amounts is not NULL."""
    inner = condition.this if isinstance(condition, exp.Not) else None
    if not isinstance(inner, exp.Is) or not isinstance(inner.expression, exp.Null):
        return False
    part = inner.this.unnest()
    return any(each == part for amount in amounts for each in amount.walk())

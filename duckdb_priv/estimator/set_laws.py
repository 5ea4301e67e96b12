"""Write the weights of rows for sets of values, and the law of a set, in each form.

The law of a set is what an interval of a count needs besides the variance: how the variance grows with the count, half
the step between estimates, and the skewness of the noise. Derivation: ``mechanism/comparison.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial

from duckdb_priv.estimator.forms import CONSTANTS, FORMS
from duckdb_priv.estimator.lets import StructFields, let, struct
from duckdb_priv.estimator.lookup import Lookup, decoded_rows
from duckdb_priv.estimator.set_formulas import (
    TERMS,
    law_of_sample,
    law_of_scales,
    listed,
    ordinary,
)
from duckdb_priv.release.model import MATRICES, NUMBERS
from duckdb_priv.sqltext.folding import folded
from duckdb_priv.sqltext.literals import exact
from duckdb_priv.sqltext.templates import fill, place

NUMBER = re.compile(r"\(?[0-9][0-9.]*e-?[0-9]+\)?")
"""Matches a number literal, which is written inline instead of as a field."""
LONG = 100
"""The length from which on a list of numbers is a field."""


class Places(dict[str, str]):
    """Fillings of a template. Some are written when it asks for them, even where a section has the same name."""

    def __init__(self, given: Mapping[str, str], writers: Mapping[str, Callable[[], str]]) -> None:
        super().__init__({name: text for name, text in given.items() if name not in writers})
        self._writers = writers

    def __missing__(self, name: str) -> str:
        return self.setdefault(name, self._writers[name]())


class SetLaws(StructFields):
    """Weights and laws for sets of values, for the attributes of one form."""

    def __init__(self, form: str, of: Lookup) -> None:
        self.form, self._of = FORMS[form], of
        self._shape = of.shapes[form]
        super().__init__()

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return self.take(f"{self._of.constant(name)}::DOUBLE")

    def _law(self, values: str | None) -> str:
        """Write the law of a set: what an interval needs besides the variance, if every record counts once."""
        if self.form.blocks:
            return self._law_of_blocks(values)
        if self.form.symmetric:
            return self._law_of_symmetric(values)
        places = self.take(self._positions(values))
        return self.make(self._law_of(places, self._kept_weights(places)))

    def _law_of(self, places: str, weights: str, *, inline: bool = False) -> str:
        """Write the law of the values at some positions, from the weights by shown value."""
        single = f"list_extract({places}, 1)"
        known = {name: self._number_at(name, single, inline=inline) for name in TERMS} | {
            "shrinkage": "0e0"
        }
        if self.form.from_histogram:
            known["shrinkage"] = (
                f"(1 - {self._number_at('own', single, inline=inline)}"
                f" + {self._number_at('other', single, inline=inline)})"
            )
        chosen = f"list_sum(list_select({weights}, {places}))"
        inside = f"{chosen} / len({places})"
        outside = f"(list_sum({weights}) - {chosen}) / nullif(len({weights}) - len({places}), 0)"
        given = {name: f"{sql}::DOUBLE" for name, sql in known.items()}
        of_one = f"CASE WHEN len({places}) = 1 THEN {struct(**given)} END"
        return let("k", ordinary("law"), known=of_one, inside=inside, outside=outside)

    def _law_of_symmetric(self, values: str | None) -> str:
        """Write the law if a row's weight depends on whether it shows one of the set; the whole domain has no noise."""
        if not self.form.perturbed:
            return law_of_sample(self._number("own"))
        every = f"{self._size(values)} = {self.take(self._of.size())}"
        some = self.keep(f"CASE WHEN {every} THEN 0 ELSE 1 END")
        lean = self.keep(f"({self._step} - 2 * {self._often(values)} * {self._step})")
        return self.make(
            struct(
                slope=f"{some} * ({lean} - 1)", half_step=f"{some} * ({self._step} / 2)",
                upward=f"{some} * {lean}", downward=f"{some} * (2 - {lean})",
                shrinkage=f"{some} * (1 - 1 / {self._step})",
            )
        )  # fmt: skip

    def _law_of_blocks(self, values: str | None) -> str:
        """Write the law if a row's weight depends on how many of the values its block holds."""
        places, of = self.take(self._positions(values)), self._of.blocks()
        given = {name: self.take(of[name]) for name in ("blocks", "stride", "held")}
        return self.make(self._blocks_law(places, self._kept_weights(places), given))

    def _blocks_law(self, places: str, weights: str, of_blocks: Mapping[str, str]) -> str:
        own, other = self._number("own"), self._number("other")
        given = {"h": weights, "size": f"len({places})", "own": own, "other": other, **of_blocks}
        return let("k", ordinary("law_of_blocks"), **given)

    def law_at(self, places: str, noisy: str) -> str:
        """Write the law of the values at some positions with literals only; ``noisy`` is the scale of the rows.

        If all values have the same two probabilities, the weights for a set follow from its size.
        """
        count, size = f"len({places})", self._of.size()
        if self.form.blocks:
            of = self._of.blocks()
            given = {name: of[name] for name in ("blocks", "stride", "held")}
            return self._blocks_law(places, self._row(places, inline=True), given)
        if not self.form.symmetric:
            law = self._law_of("(w).places", "(w).row", inline=True)
            return let("w", law, places=places, row=self._row(places, inline=True))
        if self.form.varied:
            return law_of_scales(f"({size} - 2 * {count})", size, noisy, f"{count} = {size}")
        step, other = self._step, f"{count} * {self._number('other')} * {self._step}"
        return let(
            "k",
            ordinary("law"),
            known=struct(**dict.fromkeys((*TERMS, "shrinkage"), "NULL::DOUBLE")),
            inside=f"{step} - {other}",
            outside=f"CASE WHEN {count} < {size} THEN -({other}) END",
        )

    def _number(self, name: str) -> str:
        """Write a number that is equal for all values."""
        number = self._of.number(name, "1")
        return number if NUMBER.fullmatch(number) else self.take(f"{number}::DOUBLE")

    def _numbers(self, name: str, *, inline: bool = False) -> str:
        """Write the list of one number for all values: once for each function, unless ``inline``."""
        listed = self._of.numbers(name)
        return listed if inline or len(listed) < LONG else self.take(listed)

    def _number_at(self, name: str, position: str, *, inline: bool = False) -> str:
        """Write one number of the value at a position."""
        number = self._of.number(name, position)
        listed = self._of.numbers(name)
        if listed.startswith("(") and listed.endswith(")"):
            listed = listed[1:-1]
        return (
            number
            if inline or listed not in number
            else number.replace(listed, self._numbers(name))
        )

    @cached_property
    def _gap(self) -> str:
        """Write the difference of the two probabilities of showing a value: with and without having it."""
        return folded(f"({self._number('own')} - {self._number('other')})")

    @cached_property
    def _step(self) -> str:
        """Write the weight difference between a row that shows one of a set and a row that does not."""
        if not self.form.perturbed:
            return "1e0"
        return folded(f"(1 / {self._gap})")

    def _often(self, *sets: str | None) -> str:
        """Write the probability that a record with another value shows one of a set, or of the intersection of two."""
        return f"({self._size(*sets)} * {self._number('other')})"

    def _outside(self, *sets: str | None) -> str:
        """Write the weight of a row that shows none of a set, or of the intersection of two."""
        if not self.form.perturbed:
            return "0e0"
        return self.keep(f"(-{self._often(*sets)} * {self._step})")

    def _size(self, *sets: str | None) -> str:
        """Write the size of a set, or of the intersection of two."""
        lists = [listed(each) for each in dict.fromkeys(sets) if each is not None]
        if not lists:
            return self.take(self._of.size())
        every = lists[0]
        if len(lists) == 2:
            every = f"list_filter({every}, lambda v: list_position({lists[1]}, v) > 0)"
        if self._shape.has_missing:
            # The missing value counts as one: list_distinct leaves NULL out.
            every = f"[concat('=' || v) FOR v IN {every}]"
        return self.take(f"len(list_distinct({every}))")

    @property
    def _outcomes(self) -> str:
        """Write the number of outcomes of a row: the values, or the blocks of values."""
        return self._of.blocks()["blocks"] if self.form.blocks else self._of.size()

    def _place(self, column: str) -> str:
        """Write the position of the shown value in the domain, or of the block among all blocks, from 1."""
        if self.form.blocks:
            return f"(TRY_CAST({column} AS INTEGER) + 1)"
        if self._shape.enumerated:
            return f"coalesce({self._of.place().replace('_column', column)} + 1, {self._of.size()})"
        texts, size = self._of.texts(), self._of.size()
        return f"coalesce(list_position({texts}, {exact(column)}), {size})"

    def _positions(self, values: str | None) -> str:
        """Write the positions of a set of values in the domain, from 1."""
        size = self._of.size()
        if values is None:
            return f"range(1, {size} + 1)"
        texts = self._of.texts()
        return f"list_distinct([coalesce(list_position({texts}, {exact('v')}), {size}) FOR v IN {listed(values)}])"

    def _kept_weights(self, positions: str) -> str:
        """Return the field of t with the weights for a set, by shown value."""
        return self.keep(self._row(positions))

    def _row(self, positions: str, *, inline: bool = False) -> str:
        """Write the list of weights for a set, by shown value."""
        rows = self._filled("selected", positions, "_priv_x", inline=inline)
        return (
            "[CASE len(r) WHEN 1 THEN list_extract(r, 1)"
            " ELSE [coalesce(list_sum([list_extract(each, y) FOR each IN r]), 0)"
            f" FOR y IN range(1, {self._outcomes} + 1)] END FOR r IN [{rows}]][1]"
        )

    def _filled(
        self, section: str, positions: str, first: str = "", *, inline: bool = False
    ) -> str:
        """Write a section for the values at some positions; ``number.*`` are of the first value.

        Matrices and long lists are written once for each function, unless they must be ``inline``, where DuckDB folds
        them.
        """
        first = first or f"list_extract({positions}, 1)"
        text = self.form.text(section)
        writers: dict[str, Callable[[], str]] = {
            "position": lambda: first,
            "places": lambda: positions,
            "size": self._of.size,
            "texts": self._of.texts,
            **{f"constant.{name}": partial(self._of.constant, name) for name in CONSTANTS},
            **{f"numbers.{name}": partial(self._numbers, name, inline=inline) for name in NUMBERS},
            **{
                f"number.{name}": partial(self._number_at, name, first, inline=inline)
                for name in NUMBERS
            },
        }
        places = dict(self._of.blocks()) if self.form.blocks else {}
        for name in MATRICES:
            if place(f"some.{name}") in text:
                rows = self._of.encoded(name)
                chosen = f"list_select({rows if inline else self.take(rows)}, {positions})"
                places[f"some.{name}"] = decoded_rows(name, chosen)
        return fill(self.form.sections[section], Places({**self.form.sections, **places}, writers))

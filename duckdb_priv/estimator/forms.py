"""The forms that the estimates of a release can take, and the SQL of each.

A form says how the weights W[x, y] of an attribute are computed from the numbers in the catalog. It is one record
here and one file in ``sql/analyst/estimators``, whose sections are formulas over ``s``, the sums of some rows: the
macros take them from the rows at hand, the query of ``priv.reconstructed_distribution`` from its cells. Code that
needs to know how a form differs from others asks for a trait of its record; only the mechanism that publishes in a
form knows its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from duckdb_priv.errors import InvalidReleaseFile
from duckdb_priv.estimator.lets import Chain, struct
from duckdb_priv.release.model import SensitiveAttribute
from duckdb_priv.sqltext.templates import expand, fill, sections, template

FOLDER = "analyst/estimators"
LONGEST = 200
"""How many characters a sum may have to be written more than once."""
LOOKED_UP = "priv._"
"""Begins what is looked up by a macro, in a publisher's database: it is short, and planned at each place."""
QUANTILE = template("@normal_quantile@")
"""What formulas have of the confidence, which the caller wrote."""
COMMON = "common"
"""The file whose sections serve every form that has none of its own."""
FIELD = re.compile(r"(?<![\w.)\"])([a-z])\.(?=[a-z_])")
"""A field of a struct that is bound by ``FOR s IN``; such names are one letter.

DuckDB takes ``s.shown`` for a column of a table s, or a field of a column s, if there is one, and for nothing else in
HAVING; ``(s).shown`` it takes for what it is.
"""
SUM = re.compile(r"\(s\)\.([a-z_]+)")
CONSTANT = re.compile("\0constant\\.([a-z_]+)\0")
LIST = re.compile(
    r"\b_priv_(own|other|retention|background|weights|operators|likelihoods|holders|members)\b"
)
"""What the steps of the iterative Bayesian method read of the whole domain: a list of numbers, or of lists."""


@dataclass(frozen=True)
class Form:
    """One form: where its SQL is found, and what others must know of it."""

    name: str
    builds_on: tuple[str, ...] = ()
    """Files whose sections serve where its own has none, in this order."""
    scaled: bool = False
    """Its records stand for several each, so functions need their weight."""
    copied: bool = False
    """That weight says how often a record appears; it does not stand for several in one row."""
    varied: bool = False
    """How far its records are perturbed differs from row to row, so functions need the column that says it."""
    listed: bool = False
    """Its records show a list of values."""
    blocks: bool = False
    """Its records show the number of a block of values."""
    drawn: bool = False
    """What a record shows is drawn by its own true value alone, so that it has an operator."""
    joined: bool = False
    """Its records show one value each, by what they truly have, and can be asked for several attributes at once."""
    invertible: bool = True
    """Every count has an unbiased estimate."""
    perturbed: bool = True
    """Records may show what is not true of them."""
    symmetric: bool = False
    """All values have the same two probabilities, so that a row counts for a set by whether it shows one of it."""
    followed: bool = False
    """The change of a count from a version to the next is known without the noise that both share."""
    grouped: bool = False
    """Its records show a value of a group that they share."""
    from_histogram: bool = False
    """Its weights are made from the histogram of what is published, and share its noise."""
    baseline: bool = False
    """It is there to be compared with, and answers for single values only."""

    two_numbers: bool = False
    """Its counts follow from how many rows there are, how many show the value, and two numbers of the value."""

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """The SQL of its sections. A formula is in parentheses; pieces of a query, ``query.NAME``, do not."""
        found: dict[str, str] = {}
        for file in (COMMON, *reversed(self.builds_on), self.name):
            found |= _sections(file)
        return found

    def text(self, name: str) -> str:
        """Return a section with all sections that it mentions; only numbers and arguments are left to fill."""
        return expand(self.sections[name], self.sections)

    def estimator(
        self,
        name: str,
        places: Mapping[str, str],
        kind: str = "rows",
        then: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Write a formula over sums of one ``kind``: those of the rows at hand, or of a cell of the distribution.

        Sums that are lists themselves, what other sums are made of, and what is looked up for several places, are
        computed once for the formula; others are written in place: equal aggregates DuckDB computes once. Steps may
        follow.

        >>> FORMS["sample"].estimator("estimate", {"number.own": "0.1e0"}, "cell")
        '((_priv_observed) / _priv_numbers.own)'
        """
        text = self.text(name)
        often = Counter(SUM.findall(text))
        made_of = {field: SUM.findall(self._sum(field, kind)) for field in often}
        first = dict.fromkeys(each for field in often for each in made_of[field])
        sums = {field: fill(self._sum(field, kind), places) for field in {**often, **first}}
        alone = [field for field in often if not made_of[field]]
        bound = {field: sums[field] for field in alone if len(sums[field]) > LONGEST}
        bound |= {field: sums[field] for field in first}
        if first or any(often[field] > 1 and LOOKED_UP in sums[field] for field in often):
            # And all that the caller wrote: no subquery may be in the formula of a let.
            bound |= {field: sums[field] for field in alone}
            if QUANTILE in text:
                text = text.replace(QUANTILE, "(s).quantile")
                bound["quantile"] = places["normal_quantile"]
        made = {field: sums[field] for field in often if made_of[field] and often[field] > 1}
        text = SUM.sub(
            lambda match: match[0] if match[1] in {**bound, **made} else sums[match[1]], text
        )
        steps, given = list(then), text
        if bound:
            steps.insert(0, ("s", text))
            given = struct(**bound)
            if made:
                # One let beside the other: DuckDB 2 plans what is inside of another twice.
                inlined = [each for field in often if field not in made for each in made_of[field]]
                known = {*often, *inlined, "quantile"}
                kept = {field: f"(s).{field}" for field in bound if field in known}
                steps.insert(0, ("s", struct(**kept, **made)))
        if steps:
            text = str(
                Chain(fill(given, places), *((of, fill(step, places)) for of, step in steps))
            )
        for each in self._lists(text):
            text = f"[{text} FOR _priv_{each} IN [{self.domain_list(each)}]][1]"
        return fill(text, places)

    def _lists(self, text: str) -> list[str]:
        """Name the lists of the whole domain that a text reads, and those that they are made of after them."""
        found = set(LIST.findall(text))
        return sorted(found.union(*(LIST.findall(self.domain_list(each)) for each in found)))

    def _sum(self, field: str, kind: str) -> str:
        section = f"{kind}.{field}"
        if kind == "records" and section not in self.sections:
            section = f"rows.{field}"
        if section in self.sections:
            return self.text(section)
        return f"_priv_numbers.{field}" if kind == "cell" else template(f"@number.{field}@")

    @property
    def weighed(self) -> bool:
        """Whether functions need a column of the release, as their weight."""
        return self.scaled or self.varied

    @property
    def independent(self) -> bool:
        """Whether what a record shows is drawn for it alone, or as if it were."""
        return self.drawn or self.grouped or self.blocks or self.varied

    @property
    def reported(self) -> bool:
        """Whether what a record shows is what it reports, which may not be true of it."""
        return self.perturbed and not self.listed

    def matched(self, places: Mapping[str, str]) -> str:
        """Write whether a row shows the value; ``places`` may give the position of the value in the domain."""
        return fill(expand(self.sections["match"], {**self.sections, **places}), places)

    @property
    def by_record(self) -> bool:
        """Whether weights can also be looked up for each row, where its text is an ENUM.

        They are where a macro must choose among forms: DuckDB 2 makes a histogram a plan of its own, which stays when
        another form is chosen. Otherwise a histogram gives the same digits in every version and with any number of
        threads.
        """
        return any(name.startswith("records.") for name in self.sections)

    def domain_lists(self) -> list[str]:
        """Name the lists that the steps of the iterative Bayesian method read, each after those that it is made of."""
        return self._lists(" ".join(map(self.text, ("em_start", "em_ratio", "em_step"))))[::-1]

    def domain_list(self, name: str) -> str:
        """Return the SQL of such a list."""
        if f"list.{name}" in self.sections:
            return self.text(f"list.{name}")
        return template(f"@numbers.{name}@")


@cache
def _sections(file: str) -> dict[str, str]:
    found = {name: FIELD.sub(r"(\1).", text) for name, text in sections(FOLDER, file).items()}
    return {
        name: text if name.startswith("query.") else f"({text})" for name, text in found.items()
    }


TEST, ENDS = (expand(_sections(COMMON)[name], _sections(COMMON)) for name in ("test", "ends"))
"""What is tested of a count, over ``i``, its moments; and the interval of what is tested, over ``u``: for all forms."""

FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form(
            "two_weights", drawn=True, joined=True, symmetric=True, followed=True, two_numbers=True
        ),
        Form("by_group", ("two_weights",), varied=True, joined=True, symmetric=True),
        Form("rank_one", ("operator",), drawn=True, joined=True, followed=True),
        Form("operator", drawn=True, joined=True, followed=True),
        Form("singular", ("rank_one", "operator"), drawn=True, joined=True, invertible=False),
        Form("sample", ("two_weights",), scaled=True, perturbed=False, symmetric=True),
        Form(
            "two_by_two",
            ("two_weights",),
            joined=True,
            grouped=True,
            from_histogram=True,
            two_numbers=True,
        ),
        Form("conditional_poisson", ("operator",), joined=True, grouped=True, from_histogram=True),
        Form("batches", ("operator",), joined=True, grouped=True),
        Form("scaled", ("two_weights",), scaled=True, drawn=True, symmetric=True),
        Form("duplicated", ("two_weights",), scaled=True, copied=True),
        Form("blocks", ("two_weights",), blocks=True, joined=True, followed=True),
        Form("listed", listed=True, baseline=True),
        Form("constant", ("two_weights",), baseline=True),
    )
}
"""Every form by its name, which is that of its file."""


def equals(*, has_missing: bool) -> str:
    """Write the operator that says whether a column shows a value, which may be the missing one."""
    return "IS NOT DISTINCT FROM" if has_missing else "="


def last_shown(column: str, chosen: str = "", *, has_missing: bool) -> str:
    """Write the last value that rows show, ``chosen`` by a FILTER; NULL where some show one and some the missing one.

    >>> print(last_shown("x", has_missing=False))
    max(x)
    """
    last = f"max({column}){chosen}"
    if not has_missing:
        return last
    some = f"count({column}){chosen} BETWEEN 1 AND count(*){chosen} - 1"
    return f"CASE WHEN NOT ({some}) THEN {last} END"


CONSTANTS = tuple(
    sorted(
        {
            name
            for form in FORMS.values()
            for text in form.sections.values()
            for name in CONSTANT.findall(text)
        }
    )
)
"""What estimators read of the parameters of a release."""


def form_of(attribute: SensitiveAttribute) -> Form:
    """Return the form of an attribute.

    Raises InvalidReleaseFile for a form that this version does not know.
    """
    if attribute.form not in FORMS:
        raise InvalidReleaseFile(
            f"{attribute.release!r} is estimated in the form {attribute.form!r}, which this version does not know",
            hint="upgrade duckdb_priv",
        )
    return FORMS[attribute.form]

"""The estimator forms of releases, and the SQL of each.

A form defines how the weights W[x, y] of an attribute are computed from the numbers in the catalog. It is one record
here and one file in ``sql/analyst/estimators``. The file's sections are formulas over ``s``, sums over rows. Macros
compute these sums over the aggregated rows; ``priv.reconstructed_distribution`` computes them for its cells. Code that
depends on a form reads a trait of the record; only the mechanism that publishes in a form uses its name.
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
"""Maximum number of characters of a sum that is written more than once."""
LOOKED_UP = "priv._"
"""Prefix of a macro call that looks up a fact in a publisher's database. The call is short, but DuckDB plans each
one."""
QUANTILE = template("@normal_quantile@")
"""The placeholder in formulas for the normal quantile, computed from the caller's confidence."""
COMMON = "common"
"""The file of default sections for all forms."""
FIELD = re.compile(r"(?<![\w.)\"])([a-z])\.(?=[a-z_])")
"""Matches a field of a struct that ``FOR s IN`` binds; such names are one letter.

DuckDB reads ``s.shown`` as a column of a table s, or a field of a column s, if one exists; in HAVING it always does. It
reads ``(s).shown`` as the field of the struct.
"""
SUM = re.compile(r"\(s\)\.([a-z_]+)")
CONSTANT = re.compile("\0constant\\.([a-z_]+)\0")
LIST = re.compile(
    r"\b_priv_(own|other|retention|background|weights|operators|likelihoods|holders|members)\b"
)
"""Matches a list over the whole domain that the iterative Bayesian method reads: of numbers, or of lists."""


@dataclass(frozen=True)
class Form:
    """An estimator form: the files of its SQL, and its traits."""

    name: str
    builds_on: tuple[str, ...] = ()
    """Files that supply the sections missing in its own file, in order of precedence."""
    scaled: bool = False
    """Each record represents several source records, so functions need its weight."""
    copied: bool = False
    """The weight says how often a record is repeated; a row does not represent several records."""
    varied: bool = False
    """The strength of the perturbation differs between rows, so functions need the scale column."""
    listed: bool = False
    """Each record shows a list of values."""
    blocks: bool = False
    """Each record shows the number of a block of values."""
    drawn: bool = False
    """The shown value is drawn from the record's own true value alone, so the perturbation is an operator (a
    matrix)."""
    joined: bool = False
    """Each record shows one value that depends on its true value, so several attributes can be estimated jointly."""
    invertible: bool = True
    """Every count has an unbiased estimate."""
    perturbed: bool = True
    """Records may show a value that is not their true value."""
    symmetric: bool = False
    """All values have the same two probabilities, so a row's weight for a set depends only on whether it shows one of
    it."""
    followed: bool = False
    """The change of a count between versions can be estimated without the noise that both versions share."""
    grouped: bool = False
    """Records are in groups, and each shows a value of its group."""
    from_histogram: bool = False
    """Weights are computed from the histogram of the published values, and share its noise."""
    baseline: bool = False
    """A baseline for comparisons, which estimates single values only."""

    shared: tuple[tuple[str, ...], ...] = ()
    """Sections that several moments of a count contain. An aggregate computes them once, layer by layer: those of a
    layer read only those of earlier ones."""
    two_numbers: bool = False
    """A count follows from the number of rows, the number that show the value, and two numbers of the value."""

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """The SQL of its sections. A formula is in parentheses; pieces of a query, ``query.NAME``, do not."""
        found: dict[str, str] = {}
        for file in (COMMON, *reversed(self.builds_on), self.name):
            found |= _sections(file)
        return found

    def text(self, name: str) -> str:
        """Return a section with all referenced sections inserted; only numbers and arguments remain to be filled in."""
        return expand(self.sections[name], self.sections)

    def estimator(
        self,
        name: str,
        places: Mapping[str, str],
        kind: str = "rows",
        then: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Write a formula over sums of one ``kind``: over the aggregated rows, or over a cell of the distribution.

        Long sums, inputs of other sums, and values that are looked up for several placeholders are bound once, by a
        let. All other sums are written in place: DuckDB computes equal aggregates only once. ``then`` appends further
        steps.

        >>> FORMS["sample"].estimator("estimate", {"number.own": "0.1e0"}, "cell")
        '((_priv_observed) / _priv_numbers.own)'
        """
        layers = self._layers() if name == "moments" and kind != "cell" else []
        parts = {part: f"(s).{part}" for layer in layers for part in layer}
        text = expand(self.sections[name], {**self.sections, **parts})
        often = Counter(
            SUM.findall(" ".join([text, *(part for layer in layers for part in layer.values())]))
        )
        often = Counter({field: times for field, times in often.items() if field not in parts})
        made_of = {field: SUM.findall(self._sum(field, kind)) for field in often}
        first = dict.fromkeys(each for field in often for each in made_of[field])
        sums = {field: fill(self._sum(field, kind), places) for field in {**often, **first}}
        alone = [field for field in often if not made_of[field]]
        bound = {field: sums[field] for field in alone if len(sums[field]) > LONGEST}
        bound |= {field: sums[field] for field in first}
        if first or layers or any(often[field] > 1 and LOOKED_UP in sums[field] for field in often):
            # The caller's arguments too: the formula of a let must not contain a subquery.
            bound |= {field: sums[field] for field in alone}
            if QUANTILE in text:
                text = text.replace(QUANTILE, "(s).quantile")
                bound["quantile"] = places["normal_quantile"]
        made = {field: sums[field] for field in often if made_of[field] and often[field] > 1}
        text = SUM.sub(
            lambda match: match[0] if match[1] in {**bound, **made, **parts} else sums[match[1]],
            text,
        )
        steps, given = list(then), text
        if bound:
            steps.insert(0, ("s", text))
            given = struct(**bound)
            for number in reversed(range(len(layers))):
                before = [*bound, *(part for layer in layers[:number] for part in layer)]
                step = struct(**{each: f"(s).{each}" for each in before}, **layers[number])
                steps.insert(0, ("s", step))
            if made:
                # One let follows the other: DuckDB 2 plans a nested let twice.
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

    def _layers(self) -> list[dict[str, str]]:
        """Return the formulas of the shared parts. A formula reads parts of earlier layers as fields."""
        layers: list[dict[str, str]] = []
        for layer in self.shared:
            known = {part: f"(s).{part}" for earlier in layers for part in earlier}
            layers.append(
                {part: expand(self.sections[part], {**self.sections, **known}) for part in layer}
            )
        return layers

    def _lists(self, text: str) -> list[str]:
        """Return the names of the domain lists that a text reads, followed by the inputs of those lists."""
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
        """Whether functions need the weight column of the release."""
        return self.scaled or self.varied

    @property
    def counted(self) -> bool:
        """Whether a count follows from how many rows match, by a formula that all such forms share."""
        return not self.weighed and (self.blocks or (self.symmetric and self.drawn))

    @property
    def independent(self) -> bool:
        """Whether shown values are drawn independently, or can be treated so."""
        return self.drawn or self.grouped or self.blocks or self.varied

    @property
    def reported(self) -> bool:
        """Whether a record shows one reported value, which may not be its true value."""
        return self.perturbed and not self.listed

    def matched(self, places: Mapping[str, str]) -> str:
        """Write the condition that a row shows the value; ``places`` may hold the value's position in the domain."""
        return fill(expand(self.sections["match"], {**self.sections, **places}), places)

    @cached_property
    def by_record(self) -> bool:
        """Whether weights can also be looked up row by row, if the column is an ENUM.

        Macros that choose among forms do so: DuckDB 2 gives a histogram its own plan, which stays even if another form
        is chosen. Other macros use a histogram, which gives the same digits in every DuckDB version and with any number
        of threads.
        """
        return any(name.startswith("records.") for name in self.sections)

    def domain_lists(self) -> list[str]:
        """Return the names of the lists that the iterative Bayesian method reads, each after its inputs."""
        return self._lists(" ".join(map(self.text, ("em_start", "em_ratio", "em_step"))))[::-1]

    def domain_list(self, name: str) -> str:
        """Return the SQL of one of these lists."""
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
"""The test input of a count, over its moments ``i``; and the interval, over the test input ``u``. All forms use
them."""

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
            shared=(
                ("difference", "kept", "kept_slope", "linear", "fewest", "most"),
                ("spread", "slope"),
            ),
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
"""All forms by name, which is also the name of the file."""


def equals(*, has_missing: bool) -> str:
    """Return the operator that compares a column with a value, which may be the missing value."""
    return "IS NOT DISTINCT FROM" if has_missing else "="


def last_shown(column: str, chosen: str = "", *, has_missing: bool) -> str:
    """Write the largest value that rows show, ``chosen`` by a FILTER; NULL if only some rows show the missing value.

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
"""Names of the release parameters that estimators read."""


LEAST_GAP = 1e-12
"""A value is in every decoy group if its probabilities ``own`` and ``other`` differ by no more than this."""


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


def estimable(attribute: SensitiveAttribute) -> Sequence[str | None]:
    """Return the values whose count can be estimated: all but those that are in every decoy group."""
    numbers = attribute.numbers
    if not form_of(attribute).grouped or "other" not in numbers:
        return attribute.values
    pairs = zip(attribute.values, numbers["own"], numbers["other"], strict=True)
    return [value for value, own, other in pairs if own - other > LEAST_GAP]

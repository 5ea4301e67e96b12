"""``FROM priv.check_source(…)``: all findings about a source, the worst first.

The findings about domains, and about the storage of values, are here; each other kind has a module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from duckdb_priv.engine.source import Source, is_one_of, open_source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.determination import require_certainty
from duckdb_priv.mechanism.smallest_count import smallest_count
from duckdb_priv.mechanism.uniform import Uniform, epsilon_retention, max_retention
from duckdb_priv.methods.common.domain import given_domains
from duckdb_priv.methods.common.parameters import DOMAIN, EPSILON, RETENTION, RHO1, RHO2
from duckdb_priv.publisher.check.determined import (
    coarser_forms,
    groups_of_one_value,
    public_columns_that_tell,
    siblings_of_sensitive_columns,
)
from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding, worst_first
from duckdb_priv.publisher.check.identifiers import (
    exact_times,
    identifiers_among,
    missing_record_id,
    records_of_persons,
    several_records_per_person,
    similar_record_ids,
    telling_texts,
    unique_in_public_columns,
    unusable_record_ids,
)
from duckdb_priv.release.arguments import (
    COLUMNS,
    NAME,
    NUMBER,
    VALUES,
    Arguments,
    argument,
    read,
)
from duckdb_priv.release.request import Roles
from duckdb_priv.sqltext.quoting import identifier, identifiers
from duckdb_priv.sqltext.reading import select

RARE = 5
"""A value with fewer records is rare: its presence in a domain reveals something about few people."""
READABLE = 0.5
"""The share of records whose values should be frequent enough for useful counts."""
MOST_COLUMNS = 5_000
"""The most columns that ``priv.check_source`` examines: more would take minutes."""
LISTED = "FROM priv.check_source(…) lists everything"
SHOWN = 5
"""The most findings that an error lists."""
USUAL_EPSILON = 1.0
"""The epsilon assumed for counts if no argument states the noise."""


@dataclass(frozen=True, kw_only=True)
class CheckArguments(Arguments):
    """The arguments of ``priv.check_source``."""

    source: str = argument(NAME, "the table or view to be published", "'visits'")
    sensitive: tuple[str, ...] = argument(
        COLUMNS, "the columns whose values are to be protected", "'disease'"
    )
    record_id: tuple[str, ...] = argument(
        COLUMNS, "the column that tells records apart, or a list of them", "'id'", default=()
    )
    exclude: tuple[str, ...] = argument(
        COLUMNS, "the columns that are not to be published", "['name']", default=()
    )
    person: tuple[str, ...] = argument(
        COLUMNS,
        "the column that tells whose record it is, or a list of them",
        "'patient_nbr'",
        default=(),
    )
    public: tuple[str, ...] | None = argument(
        COLUMNS,
        "the columns that are published as they are; what is not named is left out",
        "['age', 'gender']",
        default=None,
    )
    domain: Any = argument(VALUES, DOMAIN, "['flu', 'cold', NULL]", default=None)
    retention: float | None = argument(NUMBER, RETENTION, "0.3", default=None)
    epsilon: float | None = argument(NUMBER, EPSILON, "1.0", default=None)
    rho1: float | None = argument(NUMBER, RHO1, "0.1", default=None)
    rho2: float | None = argument(NUMBER, RHO2, "0.5", default=None)
    certainty: float = argument(
        NUMBER, "the posterior from which on a value counts as known", "0.95", default=0.95
    )

    def __post_init__(self) -> None:
        require_certainty(self.certainty)

    def operator(self) -> Callable[[int], Uniform]:
        """Return the function from domain size to perturbation operator."""
        given = {
            name
            for name in ("retention", "epsilon", "rho1", "rho2")
            if getattr(self, name) is not None
        }
        if given == {"rho1", "rho2"}:
            rho1, rho2 = self.rho1 or 0.0, self.rho2 or 0.0
            return lambda size: Uniform(max_retention(rho1, rho2, size), size)
        if self.retention is not None and given == {"retention"}:
            return partial(Uniform, self.retention)
        if given <= {"epsilon"}:
            epsilon = USUAL_EPSILON if self.epsilon is None else self.epsilon
            return lambda size: Uniform(epsilon_retention(epsilon, size), size)
        raise InvalidParameter(
            "give either a retention, or epsilon, or rho1 and rho2",
            hint="write epsilon := 1.0, or leave all out",
        )


def domains_from_the_source(
    exam: Examination, given: Mapping[str, Sequence[object]]
) -> list[Finding]:
    """Return findings about domains read from the source: they disclose which values occur."""
    found = []
    for name in exam.source.sensitive:
        if name in given:
            continue
        counts = _counts(exam, name)
        rare = int((counts < RARE).sum())
        found.append(
            Finding(
                "warning" if rare and exam.rows >= RARE * len(counts) else "note",
                "domain_from_source",
                (name,),
                float(rare),
                f"the domain of {name!r} is what occurs, {len(counts)} values, {rare} of them in fewer than"
                f" {RARE} records: that each occurs is published with certainty, and a value that comes new"
                " changes the noise of all records",
                "give domain := […] with every value that could occur, also later",
                exam.basis(),
            )
        )
    return found


def domains_too_large_for_the_noise(
    exam: Examination, operator: Callable[[int], Uniform], given: Mapping[str, Sequence[object]]
) -> list[Finding]:
    """Return findings with the count from which the error is at most half of it, with 95% confidence.

    ``operator`` returns the perturbation operator for a domain size.
    """
    found = []
    for name in exam.source.sensitive:
        counts = _counts(exam, name)
        size = len(given.get(name, counts))
        if size < 2:
            continue
        perturbed = operator(size)
        least = smallest_count(perturbed, exam.rows)
        readable = float(counts[counts >= least].sum()) / exam.rows
        found.append(
            Finding(
                "warning" if readable < READABLE else "note",
                "smallest_count",
                (name,),
                float(np.ceil(least)),
                f"at epsilon = {perturbed.ldp_epsilon:.3g} (retention {perturbed.retention:.3g}) over {size} values of"
                f" {name!r}, counts below {least:,.0f} of {exam.rows:,} have an error of more than half;"
                f" {int((counts >= least).sum())} of the values are more frequent",
                "merge values in a view, take a larger epsilon, or a mechanism for large domains"
                if readable < READABLE
                else "nothing",
                exam.basis(),
            )
        )
    return found


def _counts(exam: Examination, name: str) -> np.ndarray:
    rows = exam.query("value_counts", column=identifier(name))
    return np.array([count for (count,) in rows], np.int64)


def unused_enum_values(exam: Examination) -> list[Finding]:
    """Return findings of public ENUM columns whose type lists values that no record has."""
    source = exam.source
    names = [name for name in source.public if is_one_of(source.types[name], "ENUM(")]
    if not names:
        return []
    counts = exam.query(
        "dictionaries",
        listed=", ".join(f"len(enum_range(any_value({identifier(name)})))" for name in names),
        used=", ".join(f"count(DISTINCT {identifier(name)})" for name in names),
    )
    return [
        Finding(
            "note",
            "unused_enum_values",
            (name,),
            float(listed - used),
            f"the type of public column {name!r} lists {listed - used} values that no record has",
            "nothing: it is published with the values that occur",
            exam.basis(),
        )
        for name, (listed, used) in zip(names, counts, strict=True)
        if listed is not None and listed > used
    ]


def texts_that_compare_as_equal(exam: Examination) -> list[Finding]:
    """Return findings of different texts that a collation makes equal."""
    source = exam.source
    names = source.collated
    if not names:
        return []
    counts = exam.query(
        "collations",
        texts=identifiers(names),
        equal=", ".join(_counted(identifier(name)) for name in names),
        different=", ".join(_counted(f"encode({identifier(name)})") for name in names),
        source=source.stored,
        sampling=exam.sampling(50_000),
    )
    return [
        Finding(
            "warning",
            "collation",
            (name,),
            float(different - equal),
            f"{different - equal} texts of {name!r} are equal to another one that is written differently (as upper and"
            " lower case are under COLLATE NOCASE); each spelling is published as a value of its own",
            f"write them in one way in a view: lower({identifier(name)})",
            exam.sampled,
        )
        for name, (equal, different) in zip(names, counts, strict=True)
        if different > equal
    ]


def _counted(values: str) -> str:
    # Before DuckDB 2.0, count(DISTINCT …) ignores the collation.
    return f"({select(['count(*)'], '(' + select(['DISTINCT ' + values], 'looked_at') + ')')})"


CHECKS: tuple[Callable[[Examination], list[Finding]], ...] = (
    public_columns_that_tell,
    coarser_forms,
    siblings_of_sensitive_columns,
    identifiers_among,
    telling_texts,
    exact_times,
    unique_in_public_columns,
    several_records_per_person,
    texts_that_compare_as_equal,
)
"""The checks before every publication with public columns."""
THOROUGH: tuple[Callable[[Examination], list[Finding]], ...] = (
    groups_of_one_value,
    records_of_persons,
    unused_enum_values,
)
"""The additional checks of ``priv.check_source``."""


def check_source(workspace: Workspace, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all findings about a source, the worst first."""
    (arguments,) = read(given, CheckArguments, of="check_source")
    # Ids are checked here, so that a problem with them becomes a finding, too.
    roles = Roles(
        arguments.sensitive,
        arguments.record_id,
        arguments.exclude,
        arguments.public,
        arguments.person,
    )
    hidden = tuple({name.lower(): name for name in (*roles.exclude, *roles.record_id)}.values())
    source = open_source(workspace, arguments.source, replace(roles, record_id=(), exclude=hidden))
    if len(source.types) > MOST_COLUMNS:
        raise InvalidSource(
            f"the source has {len(source.types):,} columns, and at most {MOST_COLUMNS:,} are looked at together",
            hint="check a view of the columns that your readers need",
        )
    record_id = [name for name in source.types if name.lower() in _lower(roles.record_id)]
    operator = arguments.operator()
    domains = given_domains(arguments.domain, source)
    exam = Examination(workspace, source, certainty=arguments.certainty)
    findings = [each for look in (*CHECKS, *THOROUGH) for each in look(exam)]
    findings += unusable_record_ids(exam, record_id) if record_id else missing_record_id()
    findings += similar_record_ids(exam, record_id)
    findings += domains_from_the_source(exam, domains)
    findings += domains_too_large_for_the_noise(exam, operator, domains)
    return [asdict(each) for each in worst_first(findings)]


def findings_before_publishing(
    workspace: Workspace, source: Source, named: Sequence[str], *, shows_public: bool
) -> list[Finding]:
    """Return the findings that a publisher must see before publishing.

    ``named`` lists the columns that the publisher named as public. ``shows_public`` says whether any column is public.

    Raises InvalidSource for a blocker, unless all its public columns are named.
    """
    exam = Examination(workspace, source, thorough=False)
    findings = worst_first(
        [
            *(each for look in (CHECKS if shows_public else ()) for each in look(exam)),
            *similar_record_ids(exam, source.record_id),
        ]
    )
    known = _lower(named)
    severe = [
        each
        for each in findings
        if each.severity == "blocker"
        and not all(name.lower() in known for name in each.columns if name in source.public)
    ]
    if severe:
        first, *others = severe
        more = "".join(f"\n- {each.what}" for each in others[: SHOWN - 1])
        raise InvalidSource(
            f"{first.what}{more}",
            hint=f"{first.do}. {LISTED}",
        )
    return findings


def _lower(names: Sequence[str]) -> set[str]:
    return {name.lower() for name in names}

"""Public columns that identify: by how few records share a value, and by what they are called."""

from __future__ import annotations

from duckdb_priv.publisher.check.examination import MANY, Distinctness, Examination
from duckdb_priv.publisher.check.finding import Finding, Severity, keep_from_readers, percent
from duckdb_priv.publisher.check.names import named_like_an_identifier

ENOUGH = 100
"""Records from which on values that all differ are no accident: by the birthday bound there are then at least
100 squared / (2 ln 1e6), some 360, values that are about as likely as each other."""
REFUSED = 0.5
"""Share of the records that may have a value of one public column for themselves."""
WARNED = 0.1
"""Share from which on it is said."""
FEW = 20
"""Records of a value, on average, below which a column with the name of an identifier is taken for one."""


def identifiers_among(exam: Examination) -> list[Finding]:
    """Find public columns of which one value belongs to one record, or to few."""
    found = []
    for name in exam.source.public:
        profile = exam.profiles[name]
        if profile.distinct < max(2, MANY * profile.present):
            continue
        seen = exam.distinctness([name], profile.distinct)
        if each := _judged(exam, name, seen):
            found.append(each)
    return found


def _judged(exam: Examination, name: str, seen: Distinctness) -> Finding | None:
    present, enough = exam.profiles[name].present, exam.profiles[name].present >= ENOUGH
    severity: Severity = "blocker" if enough else "note"
    figure = seen.alone
    if seen.most == 1 and present > 1:
        kind, what = "unique", f"public column {name!r} differs in every row: it identifies people"
    elif (
        enough and named_like_an_identifier(name) and seen.per_value < FEW and seen.alone < REFUSED
    ):
        kind, figure = "repeated_identifier", seen.per_value
        what = (
            f"public column {name!r} is called like an identifier, and a value of it belongs to"
            f" {seen.per_value:.1f} records on average"
        )
    elif enough and seen.alone >= WARNED:
        kind, severity = "nearly_unique", "blocker" if seen.alone >= REFUSED else "warning"
        what = (
            f"{percent(seen.alone)} of the records have a value of public column {name!r} that no"
            " other record has"
        )
    else:
        return None
    return Finding(
        severity,
        kind,
        (name,),
        figure,
        f"{what}: someone who knows the value of a person finds the record",
        f"name {name!r} as record_id or person if it is one; else "
        + keep_from_readers([name], "it finds the record of a person"),
        exam.basis(seen.rate),
    )

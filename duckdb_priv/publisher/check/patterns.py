"""Public columns whose texts are addresses, numbers or sentences, and exact times."""

from __future__ import annotations

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.publisher.check.examination import SAMPLE, TEXTS, Examination
from duckdb_priv.publisher.check.finding import Finding, keep_from_readers, percent
from duckdb_priv.sqltext.quoting import identifier, literal

MATCHED = 0.5
"""Share of the texts of a column that must match a pattern."""
PATTERNS = {
    "email": "e-mail addresses",
    "telephone": "telephone numbers",
    "social_security_number": "social security numbers",
    "iban": "bank accounts",
    "uuid": "identifiers (UUID)",
    "network_address": "network addresses",
    "web_address": "web addresses",
    "free_text": "sentences, which can say anything about anyone",
}
"""What the columns of patterns.sql look for."""
VARIED = 0.1
"""Least share of different texts: what repeats more often is a label, however it is written."""
TIMES = ("TIMESTAMP", "DATETIME")


def telling_texts(exam: Examination) -> list[Finding]:
    """Find public texts that name or describe people, by their patterns."""
    source = exam.source
    columns = [name for name in source.public if is_one_of(source.types[name], "VARCHAR")]
    if not columns:
        return []
    rows = exam.query(
        "patterns",
        texts=", ".join(map(identifier, columns)),
        sample=exam.sample,
        sampling=exam.sampling(TEXTS, among=min(exam.rows, SAMPLE)),
    )
    found = []
    for number, texts, distinct, *shares in rows:
        name = columns[number]
        for kind, share in zip(PATTERNS, shares, strict=True):
            if share >= MATCHED and distinct >= VARIED * texts:
                found.append(
                    Finding(
                        "blocker",
                        kind,
                        (name,),
                        share,
                        f"public column {name!r} holds {PATTERNS[kind]}: {percent(share)} of its texts look like it",
                        keep_from_readers([name], "it names or describes people"),
                        f"the texts of {'all' if exam.rows <= TEXTS else f'about {TEXTS:,}'} records",
                    )
                )
                break
    return found


def exact_times(exam: Examination) -> list[Finding]:
    """Find public columns with a time of day beside the date."""
    source = exam.source
    columns = [name for name in source.public if is_one_of(source.types[name], *TIMES)]
    if not columns:
        return []
    shares = ", ".join(
        f"avg((date_trunc('day', {identifier(name)}) <> {identifier(name)})::INTEGER)"
        for name in columns
    )
    rows = exam.query("times", shares=shares, sample=exam.sample)
    return [
        Finding(
            "warning",
            "exact_time",
            (name,),
            share,
            f"public column {name!r} says when something happened to the minute or better, in {percent(share)} of the"
            " records: who was there at that time finds the record",
            f"round it in a view: date_trunc({literal('month')}, {identifier(name)})",
            exam.sampled,
        )
        for name, share in zip(columns, rows[0], strict=True)
        if share is not None and share >= MATCHED
    ]

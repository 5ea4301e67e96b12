"""How values are stored: dictionaries that hold more than occurs, and texts that only compare as equal."""

from __future__ import annotations

from duckdb_priv.engine.source import is_one_of
from duckdb_priv.publisher.check.examination import Examination
from duckdb_priv.publisher.check.finding import Finding
from duckdb_priv.sqltext.quoting import identifier, identifiers


def unused_enum_values(exam: Examination) -> list[Finding]:
    """Find public ENUM columns whose type lists values that no record has."""
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
    """Find texts that a collation makes equal although they are written differently."""
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
    # count(DISTINCT …) looks past the collation before DuckDB 2.0.
    return f"(SELECT count(*) FROM (SELECT DISTINCT {values} FROM looked_at))"

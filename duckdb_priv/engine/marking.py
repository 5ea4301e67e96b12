"""Keyed marks of record ids and values, by which the ledger recognizes records; only the ledger keeps them.

A mark is 64 bits of AES over the id. Its key belongs to the database; it keys no noise and does not change with the
secret. So 7 and '7' are two ids, as they are for the noise. Marks are the same in every version of DuckDB and in Spark.
Up to ``KEPT`` records are all marked; larger sources are summed up in a digest. The records' other values are examined
in a sample, which the marks choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine import randomness
from duckdb_priv.engine.aggregates import LIMIT, aggregates_of
from duckdb_priv.engine.drawing import PIECE, Drawing, is_kept_by_arrow
from duckdb_priv.engine.kernel import DRAWN, RECORDS, Kernel
from duckdb_priv.engine.source import Source, joined, key_expression
from duckdb_priv.engine.udfs import drawn
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.ledger.marks import KEPT, MARKED, SAMPLED, SAMPLED_COLUMNS, Marked
from duckdb_priv.mechanism.sketch import level_of
from duckdb_priv.release.catalog import now
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.reading import lay_out, make_table
from duckdb_priv.sqltext.steady import steady_text
from duckdb_priv.sqltext.templates import place

MARKS, VALUES = "marks", "values"
"""Placeholders of the two bit sources."""
PARTS = ("rows", "parity", "total")
"""The columns that make up a digest."""


def mark_stream(workspace: Workspace, purpose: str = MARKS) -> randomness.KeyedBits:
    """Return the bits that mark ids (MARKS) or values (VALUES)."""
    if not (found := workspace.rows("SELECT key FROM priv.identity")):
        insert = "INSERT INTO priv.identity SELECT _priv_new_secret(1), ? RETURNING key"
        found = workspace.rows(insert, [now()])
    ((key,),) = found
    return randomness.KeyedBits.derive(bytes(key), purpose)


def mark(source: Source, stream: str = place(MARKS), *, missing: str | None = None) -> str:
    """Return SQL for the mark of a record ``s``'s id; ``missing`` replaces a NULL id."""
    number, text = source.id_arguments
    function, _ = source.drawing("bits")
    if missing is not None:
        number, text = (
            (f"coalesce({number}, {missing})", text)
            if source.integer_id
            else (number, f"coalesce({text}, '{missing}')")
        )
    ids = number if source.integer_id else f"{number}, {text}"
    return f"{function}({stream}::UBIGINT, {ids}, 0::UINTEGER)"


def person_text(columns: Sequence[str], types: Mapping[str, str]) -> str:
    """Return SQL for the text of a record ``s``'s person id."""
    return joined([steady_text(f"s.{identifier(each)}", types[each]) for each in columns])


def mark_of_text(text: str, stream: str) -> str:
    """Return SQL for the mark of a text, or of a value as text; NULL has a mark, too."""
    return f"_priv_bits({stream}::UBIGINT, NULL::BIGINT, coalesce({text}, ''), ({text} IS NULL)::UINTEGER)"


def mark_records(workspace: Workspace, source: Source) -> Marked | None:
    """Make the table of the records' marks, and return its summary; None if the records have no ids."""
    if not source.record_id:
        return None
    answers = aggregates_of(workspace, source)
    level, kept = level_of(source.rows), source.rows <= KEPT
    limit = LIMIT >> level
    streams = {each: mark_stream(workspace, each) for each in (MARKS, VALUES)}
    person = {"person": "UBIGINT"} if source.person else {}
    values = {f"value{n}": "UINTEGER" for n in range(len(source.sensitive))}
    columns = {"mark": "UBIGINT"} | person | values | {"texts": "VARCHAR[]"}
    select, sampled = _marked_sql(source, limit), f"mark <= {limit}::UBIGINT"
    parts = _digests(source)
    if not kept:
        named = ", ".join(f"{sql} AS {name}" for name, sql in parts.items())
        select = (
            f"SELECT {named}, list(marked) FILTER ({sampled}) AS sampled FROM ({select}) AS marked"
        )
        sample = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        columns = dict.fromkeys(parts, "VARCHAR") | {"sampled": f"STRUCT({sample})[]"}
    reads = source.read_types | {name: source.types[name] for name in source.person}
    kernel = Kernel(reads, select, random_bits=streams, drawing=_drawing(source), gathers=not kept)
    with answers.opened(kernel, columns) as rows:
        listed = ", ".join(parts.values() if kept else parts)
        digests = _added_up(workspace.rows(f"SELECT {listed} FROM ({rows})"))
        if not kept:
            rows = f"SELECT unnest(sampled, max_depth := 2) FROM ({rows})"
        held = workspace.cursor.sql(f"SELECT * EXCLUDE (texts) FROM ({rows})").to_arrow_table(PIECE)
        workspace.cursor.register(MARKED.rpartition(".")[-1], held)
        _sample(workspace, source, streams[VALUES], f"FROM ({rows}) WHERE {sampled}")
    return Marked(source.rows, kept, level, digests, named=bool(source.person))


def _drawing(source: Source) -> Drawing:
    """Return the records whose ids are marked: the marks of their values, and their public values."""
    number, text = source.id_arguments
    named = list(enumerate(source.sensitive))
    person = ""
    if source.person:
        marked = mark_of_text(person_text(source.person, source.types), place(MARKS))
        person = f", {marked} AS person"
    records = (
        f"SELECT {number} AS _number, {text} AS _text{person}"
        + "".join(f", coalesce(v{n}.mark, 0::UINTEGER) AS value{n}" for n, _ in named)
        + "".join(f", {value} AS _public{n}" for n, (value, _) in enumerate(_public(source)))
        + f" FROM {place(RECORDS)} AS s"
        + "".join(
            f" LEFT JOIN ({_values_sql(source, name)}) AS v{n} ON v{n}.text IS NOT DISTINCT FROM"
            f" s.{key_expression(name, source.types[name])}::VARCHAR"
            for n, name in named
        )
    )
    function, _ = source.drawing("bits")
    return Drawing(records, function, {MARKS: "0::UINTEGER"})


def _public(source: Source) -> list[tuple[str, str]]:
    """Return SQL for the public columns of a record ``s``, and their types; those that Arrow cannot hold are texts."""
    typed = [(f"s.{identifier(name)}", source.types[name]) for name in source.public]
    return [
        (value, kind) if is_kept_by_arrow(kind) else (steady_text(value, kind), "VARCHAR")
        for value, kind in typed
    ]


def _marked_sql(source: Source, limit: int) -> str:
    """Return the query of all records' marks, and of the public values of a sample as texts."""
    texts = [steady_text(f"_public{n}", kind) for n, (_, kind) in enumerate(_public(source))]
    person = ", person" if source.person else ""
    values = "".join(f", value{n}" for n in range(len(source.sensitive)))
    return (
        f"SELECT _bits0 AS mark{person}{values}, CASE WHEN _bits0 <= {limit}::UBIGINT"
        f" THEN [{', '.join(texts)}]::VARCHAR[] END AS texts FROM ({place(DRAWN)})"
    )


def _values_sql(source: Source, attribute: str) -> str:
    """Return the query of the distinct marks of a sensitive column's values."""
    text = f"s.{key_expression(attribute, source.types[attribute])}::VARCHAR"
    return (
        f"SELECT text, ({mark_of_text('text', place(VALUES))} & 4294967295::UBIGINT)::UINTEGER AS mark"
        f" FROM (SELECT DISTINCT {text} AS text FROM {place(RECORDS)} AS s)"
    )


def _sample(workspace: Workspace, source: Source, bits: randomness.KeyedBits, sampled: str) -> None:
    """Make the tables of the sample's values and of their columns: sensitive ones, then public ones, by name.

    ``sampled`` is the query of the sampled records.
    """
    noisy = sorted((name.lower(), f"value{n}") for n, name in enumerate(source.sensitive))
    noisy = noisy or [("*", "0::UINTEGER")]
    public = sorted((name.lower(), n) for n, name in enumerate(source.public))
    values, order = [value for _, value in noisy], [n for _, n in public]
    chosen = workspace.cursor.sql(
        f"SELECT mark, [{', '.join(values)}] AS noisy, texts FROM ({sampled})"
    )
    cursor, table = workspace.cursor, chosen.to_arrow_table()
    noisy_marks, texts = (table[name].combine_chunks().flatten() for name in ("noisy", "texts"))
    of_noisy, of_public = (
        np.asarray(each).reshape(len(table), -1)
        for each in (noisy_marks, _marks_of_texts(bits, texts))
    )
    marks = np.hstack([of_noisy, of_public[:, order]]).astype(np.uint32)
    starts = np.arange(len(table) + 1, dtype=np.int32) * marks.shape[1]
    lists = pa.ListArray.from_arrays(starts, marks.reshape(-1))
    lay_out(cursor, SAMPLED, pa.table({"mark": table["mark"], "marks": lists}))
    names = [(name, True) for name, _ in noisy] + [(name, False) for name, _ in public]
    rows = ", ".join(
        f"({n}::UINTEGER, {literal(name)}, {literal(sensitive)})"
        for n, (name, sensitive) in enumerate(names, start=1)
    )
    columns = f"FROM (VALUES {rows}) AS t(place, attribute, sensitive)"
    make_table(cursor, SAMPLED_COLUMNS, columns)


def _marks_of_texts(bits: randomness.KeyedBits, texts: pa.Array) -> NDArray[np.uint32]:
    """Return 32 bits of the mark of each text, as ``mark_of_text`` does; NULL has a mark, too."""
    encoded = texts.dictionary_encode()
    found = pa.concat_arrays([encoded.dictionary, pa.array([""])])
    missing = pa.array(np.arange(len(found)) == len(found) - 1).cast(pa.uint32())
    numbers = pa.nulls(len(found), pa.int64())
    words = drawn(bits, *(pa.chunked_array([each]) for each in (numbers, found, missing)))
    places = np.asarray(encoded.indices.fill_null(len(found) - 1))
    marks: NDArray[np.uint32] = np.asarray(words).astype(np.uint32)[places]
    return marks


def _digests(source: Source) -> dict[str, str]:
    """Return SQL for the parts of each sensitive column's digest, which identifies all ids and values, by name."""
    values = [f"value{n}::UBIGINT * 4294967296::UBIGINT" for n in range(len(source.sensitive))]
    found: dict[str, str] = {}
    for n, value in enumerate(values or ["0::UBIGINT"]):
        pair = f"xor(mark, {value})"
        parts = ("count(*)", f"bit_xor({pair})", f"sum({pair}::HUGEINT)")
        found |= {f"{name}{n}": f"{sql}::VARCHAR" for name, sql in zip(PARTS, parts, strict=True)}
    return found


def _added_up(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Add up the digests of batches; a digest has three numbers for each sensitive column."""
    digests = []
    for n in range(0, len(parts[0]) if parts else 0, 3):
        rows = sum(int(part[n] or 0) for part in parts)
        parity = 0
        for part in parts:
            parity ^= int(part[n + 1] or 0)
        digests.append(f"{rows}/{parity}/{sum(int(part[n + 2] or 0) for part in parts)}")
    return tuple(digests)

"""The list of Python functions that DuckDB calls, with Arrow arguments and results.

DuckDB passes batches of at most 2,048 rows, from several threads and in any order. So every function is a pure function
of each row, or takes fresh bits from the operating system. All are declared with side effects; otherwise DuckDB would
compute a call on constants once and use the result for all rows. Modules that need scipy are loaded at the first call,
because most sessions never need them.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from duckdb_priv.engine import randomness
from duckdb_priv.errors import InvalidParameter, InvalidSource
from duckdb_priv.mechanism.arrays import Integers
from duckdb_priv.mechanism.decoy_groups import DecoyGroups, RangedGroups
from duckdb_priv.mechanism.uniform import Uniform

GROUPS = "STRUCT(size BIGINT, count BIGINT)[]"
"""The SQL type of a list of groups: the records of each, and those that have the examined value."""
RISKS = (
    "STRUCT(found STRUCT(size BIGINT, count BIGINT, threshold DOUBLE, too_high DOUBLE, too_low DOUBLE)[],"
    " mistake VARCHAR)"
)
"""The SQL type of the result: the risks of each group, or the mistake in the parameters."""
_NUMBERS = ("threshold", "too_high", "too_low")
_RISKS = pa.struct(
    {
        "found": pa.list_(
            pa.struct(
                {"size": pa.int64(), "count": pa.int64(), **dict.fromkeys(_NUMBERS, pa.float64())}
            )
        ),
        "mistake": pa.string(),
    }
)

Risks = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Threshold, upper tail, lower tail."""


@dataclass(frozen=True)
class Udf:
    """The registration of a function in DuckDB."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...]
    returns: str


def bits(
    streams: pa.ChunkedArray,
    numbers: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    codes: pa.ChunkedArray,
) -> pa.Array:
    """Return 64 uniform bits per row: keyed by (record id, code of the true value), or fresh.

    All rows of a call use the same stream. A record id is a number or a text. A keyed stream refuses a missing id or
    code: such rows would have the same noise.
    """
    return drawn(randomness.stream(streams[0].as_py()), numbers, texts, codes)


def drawn(
    source: randomness.KeyedBits | randomness.FreshBits,
    numbers: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    codes: pa.ChunkedArray,
) -> pa.Array:
    """Draw the words of a stream for ``bits``."""
    if isinstance(source, randomness.FreshBits):
        return pa.array(source.draw(len(codes)))
    return pa.array(_column(_draw(source, _record_ids(numbers, texts, codes), codes.to_numpy()), 0))


def random_bits(
    marks: pa.ChunkedArray,
    streams: pa.ChunkedArray,
    numbers: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    codes: pa.ChunkedArray,
) -> pa.Array:
    """Return the random bits of a record: two words of 64 bits, and its mark.

    The first word is the result of ``bits`` for the stream. The mark is the result of ``bits`` for the stream of marks
    and the record id alone, whatever the value. It is NULL if there is no stream of marks.
    """
    mark = marks[0].as_py()
    marking = None if mark is None else randomness.stream(mark)
    return assigned(randomness.stream(streams[0].as_py()), marking, numbers, texts, codes)


def assigned(
    source: randomness.KeyedBits | randomness.FreshBits,
    marking: randomness.KeyedBits | randomness.FreshBits | None,
    numbers: pa.ChunkedArray,
    texts: pa.ChunkedArray,
    codes: pa.ChunkedArray,
) -> pa.Array:
    """Draw the words and marks for ``random_bits``."""
    marked = pa.nulls(len(codes), pa.uint64())
    if isinstance(source, randomness.FreshBits):
        words = source.draw(2 * len(codes)).reshape(-1, 2)
    else:
        ids, places = _record_ids(numbers, texts, codes), codes.to_numpy()
        words = _draw(source, ids, places)
        # Records without ids have fresh bits and no marks. So records with marks have keys.
        if isinstance(marking, randomness.KeyedBits):
            marked = pa.array(_column(_draw(marking, ids, np.zeros_like(places)), 0))
    halves = [pa.array(_column(words, half)) for half in (0, 1)]
    return pa.StructArray.from_arrays([marked, *halves], RANDOM_BITS)


def integer_bits(
    streams: pa.ChunkedArray, numbers: pa.ChunkedArray, codes: pa.ChunkedArray
) -> pa.Array:
    """Return the same as ``bits`` if all record ids are integers; a column that is not passed costs no time."""
    return bits(streams, numbers, NO_TEXTS, codes)


def integer_random_bits(
    marks: pa.ChunkedArray,
    streams: pa.ChunkedArray,
    numbers: pa.ChunkedArray,
    codes: pa.ChunkedArray,
) -> pa.Array:
    """Return the same as ``random_bits`` if all record ids are integers."""
    return random_bits(marks, streams, numbers, NO_TEXTS, codes)


NO_TEXTS = pa.chunked_array([pa.nulls(1, pa.string())])
RANDOM_BITS = ("mark", "first_half", "second_half")
DRAWN = f"STRUCT({', '.join(f'{name} UBIGINT' for name in RANDOM_BITS)})"

Ids = NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Record ids: integers, or the bytes of texts and their offsets."""


def _record_ids(numbers: pa.ChunkedArray, texts: pa.ChunkedArray, codes: pa.ChunkedArray) -> Ids:
    integers = numbers.null_count == 0
    if codes.null_count or not (integers or texts.null_count == 0):
        raise InvalidSource("a record without id or with a value outside the domain has no noise")
    if integers:
        return np.asarray(numbers.to_numpy(), np.int64)
    text = pa.concat_arrays([chunk.cast(pa.large_binary()) for chunk in texts.chunks])
    _, offsets, data = text.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return (
        np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8),
        starts,
    )


def _draw(source: randomness.KeyedBits, ids: Ids, codes: NDArray[np.uint32]) -> NDArray[np.uint64]:
    if isinstance(ids, tuple):
        return source.draw_for_texts(*ids, codes)
    return source.draw_for_integers(ids, codes)


def _column(words: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    return words[:, number].copy()


class OpenGroups:
    """Decoy groups, made block by block on request; the latest blocks are cached."""

    def __init__(self, groups: RangedGroups) -> None:
        self.groups = groups
        self._blocks: OrderedDict[int, tuple[NDArray[np.int64], DecoyGroups]] = OrderedDict()
        self._guard = threading.Lock()

    def block(self, number: int) -> tuple[NDArray[np.int64], DecoyGroups]:
        """Return the first ranks of a block, and its groups."""
        with self._guard:
            if number not in self._blocks:
                if len(self._blocks) == KEPT_BLOCKS:
                    self._blocks.popitem(last=False)
                plan = self.groups.plan
                self._blocks[number] = plan.before(number), plan.block(number)
            self._blocks.move_to_end(number)
            return self._blocks[number]


KEPT_BLOCKS = 2
"""Two, since threads may need the end of one block and the beginning of the next."""

_groups: dict[int, OpenGroups] = {}
_group_numbers = itertools.count(1)


def open_groups(groups: RangedGroups) -> int:
    """Register decoy groups and return their number; SQL uses only the number."""
    number = next(_group_numbers)
    _groups[number] = OpenGroups(groups)
    return number


def close_groups(number: int) -> None:
    """Unregister decoy groups."""
    _groups.pop(number, None)


def block(groups: pa.ChunkedArray, cells: pa.ChunkedArray, ranks: pa.ChunkedArray) -> pa.Array:
    """Return the block of decoy groups of a record, from its cell (value and range) and its rank within the cell."""
    ranged = _groups[groups[0].as_py()].groups
    return pa.array(ranged.block_of(cells.to_numpy(), ranks.to_numpy()))


def decoy(
    groups: pa.ChunkedArray,
    blocks: pa.ChunkedArray,
    cells: pa.ChunkedArray,
    ranks: pa.ChunkedArray,
    words: pa.ChunkedArray,
) -> pa.Array:
    """Return for each row the position of the published value: a uniform member of its decoy group, drawn by 64 bits.

    All rows of a call use the same groups. Rows of one block should be consecutive, since only the latest blocks are
    cached. A rank counts within the cell.
    """
    opened = _groups[groups[0].as_py()]
    block, cell, word = blocks.to_numpy(), cells.to_numpy(), words.to_numpy()
    value, rank = opened.groups.value(cell), opened.groups.rank(cell, ranks.to_numpy())
    shown = np.empty(len(block), np.uint32)
    # Most calls concern a single block; testing for that takes a tenth of the time of listing the blocks.
    numbers = np.unique(block) if (block != block[:1]).any() else block[:1]
    for number in numbers.tolist():
        before, made = opened.block(number)
        of = slice(None) if len(numbers) == 1 else block == number
        shown[of] = made.publish(value[of], rank[of] - before[value[of]], word[of])
    return pa.array(shown)


def new_secret(rows: pa.ChunkedArray) -> pa.Array:
    """Make a new 256-bit key; it never appears in SQL text or in a query plan."""
    return pa.array([randomness.new_secret() for _ in range(len(rows))], pa.binary())


def calculate(names: pa.ChunkedArray, arguments: pa.ChunkedArray) -> pa.Array:
    """Return the value of a calculator per row, or the mistake in its arguments for SQL to raise."""
    from duckdb_priv.engine.calculators import calculated

    rows = zip(names.to_pylist(), arguments.to_pylist(), strict=True)
    answers = [calculated(name, tuple(numbers)) for name, numbers in rows]
    return pa.array(answers, pa.struct({"value": pa.float64(), "mistake": pa.string()}))


def perturbed_groups(
    groups: pa.ChunkedArray,
    domain_size: pa.ChunkedArray,
    retention: pa.ChunkedArray,
    epsilon: pa.ChunkedArray,
    delta: pa.ChunkedArray,
    bound: pa.ChunkedArray,
) -> pa.Array:
    """Return the thresholds and exact tail probabilities of groups whose records are all perturbed."""
    from duckdb_priv.mechanism.reconstruction_privacy import threshold
    from duckdb_priv.mechanism.tails import tails

    def compute(row: int, size: Integers, count: Integers) -> Risks:
        operator = Uniform(
            _number("retention", retention[row].as_py()), int(domain_size[row].as_py() or 0)
        )
        error = _number("epsilon", epsilon[row].as_py())
        allowed = threshold(
            count / size, operator, error, _number("delta", delta[row].as_py()), bound[row].as_py()
        )
        return allowed, *tails(size, count, operator, error)

    return _answers(groups, compute)


def counted_groups(
    groups: pa.ChunkedArray, epsilon_dp: pa.ChunkedArray, epsilon: pa.ChunkedArray
) -> pa.Array:
    """Return exact tails of the ratio attack on noisy counts of groups; there is no threshold."""
    from duckdb_priv.mechanism.ratio_attack import ratio_tails

    def compute(row: int, size: Integers, count: Integers) -> Risks:
        noise = _number("epsilon_dp", epsilon_dp[row].as_py())
        found = ratio_tails(size, count, noise, _number("epsilon", epsilon[row].as_py()))
        return np.full(len(size), np.nan), *found

    return _answers(groups, compute)


def _answers(
    groups: pa.ChunkedArray, compute: Callable[[int, Integers, Integers], Risks]
) -> pa.Array:
    answers: list[dict[str, Any]] = []
    for row, listed in enumerate(groups):
        if listed.values is None:
            answers.append({"found": [], "mistake": None})
            continue
        size, count = (listed.values.field(name).to_numpy() for name in ("size", "count"))
        try:
            numbers = dict(zip(_NUMBERS, compute(row, size, count), strict=True))
        except InvalidParameter as error:
            answers.append({"found": None, "mistake": str(error)})
            continue
        found = pa.table({"size": size, "count": count, **numbers}).to_pylist()
        answers.append({"found": found, "mistake": None})
    return pa.array(answers, _RISKS)


def _number(name: str, value: float | None) -> float:
    if value is None:
        raise InvalidParameter(f"{name} is missing", hint=f"write {name} := …")
    return float(value)


KERNELS = (
    Udf("_priv_bits", bits, ("UBIGINT", "BIGINT", "VARCHAR", "UINTEGER"), "UBIGINT"),
    Udf("_priv_integer_bits", integer_bits, ("UBIGINT", "BIGINT", "UINTEGER"), "UBIGINT"),
    Udf(
        "_priv_random_bits",
        random_bits,
        ("UBIGINT", "UBIGINT", "BIGINT", "VARCHAR", "UINTEGER"),
        DRAWN,
    ),
    Udf(
        "_priv_integer_random_bits",
        integer_random_bits,
        ("UBIGINT", "UBIGINT", "BIGINT", "UINTEGER"),
        DRAWN,
    ),
    Udf("_priv_block", block, ("UBIGINT", "UINTEGER", "BIGINT"), "UINTEGER"),
    Udf(
        "_priv_decoy",
        decoy,
        ("UBIGINT", "UINTEGER", "UINTEGER", "BIGINT", "UBIGINT"),
        "UINTEGER",
    ),
    Udf("_priv_new_secret", new_secret, ("BIGINT",), "BLOB"),
    Udf(
        "_priv_calculate",
        calculate,
        ("VARCHAR", "DOUBLE[]"),
        "STRUCT(value DOUBLE, mistake VARCHAR)",
    ),
    Udf(
        "_priv_perturbed_groups",
        perturbed_groups,
        (GROUPS, "BIGINT", "DOUBLE", "DOUBLE", "DOUBLE", "VARCHAR"),
        RISKS,
    ),
    Udf("_priv_counted_groups", counted_groups, (GROUPS, "DOUBLE", "DOUBLE"), RISKS),
)
"""Functions that do not depend on the database that they run in."""


RECORD_KERNELS = KERNELS[:6]
"""The functions that the SQL of record kernels calls."""


def create_function(connection: duckdb.DuckDBPyConnection, udf: Udf) -> None:
    """Register a function for every connection to the database."""
    # DuckDB 1.5 and 2.0 differ in the types of these options, and both accept their names.
    options: dict[str, Any] = {
        "type": "arrow",
        "null_handling": "special",
        "side_effects": True,
    }
    connection.create_function(udf.name, udf.function, list(udf.parameters), udf.returns, **options)


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Register the functions that record kernels call, unless they are registered already."""
    known = {
        name
        for (name,) in connection.execute(
            "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, '_priv_')"
        ).fetchall()
    }
    for udf in RECORD_KERNELS:
        if udf.name not in known:
            create_function(connection, udf)

"""What "random inside SQL" must mean: the symptoms of a function whose side effects DuckDB does not know.

Where they are forgotten, a call on constants is computed once, equal rows share one draw, two equal calls are
merged into one, and a draw that is read twice is drawn twice.
"""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv.engine import randomness
from duckdb_priv.engine.randomness import FreshBits


@pytest.fixture
def fresh(con):
    """A connection, and the number of a stream of fresh bits."""
    number = randomness.open_stream(FreshBits())
    yield con, f"_priv_bits({number}::UBIGINT, NULL::BIGINT, NULL::VARCHAR, 0::UINTEGER)"
    randomness.close_stream(number)


def one(connection: duckdb.DuckDBPyConnection, sql: str):
    return connection.execute(sql).fetchall()[0][0]


def test_a_call_on_constants_is_not_folded(fresh):
    con, bits = fresh
    assert one(con, f"SELECT count(DISTINCT b) FROM (SELECT {bits} AS b FROM range(3000))") == 3000
    assert one(con, f"SELECT {bits}") != one(con, f"SELECT {bits}")


def test_equal_rows_do_not_share_a_draw(fresh):
    """Neither in one piece of a constant nor where a column is compressed as a dictionary."""
    con, _ = fresh
    number = randomness.open_stream(FreshBits())
    con.execute(
        "CREATE TABLE equal_rows AS SELECT 0::UINTEGER AS code, 'x' AS text FROM range(5000)"
    )
    drawn = f"_priv_bits({number}::UBIGINT, NULL::BIGINT, text, code)"
    assert one(con, f"SELECT count(DISTINCT {drawn}) FROM equal_rows") == 5000
    randomness.close_stream(number)


def test_two_equal_calls_are_two_draws(fresh):
    con, bits = fresh
    assert con.execute(
        f"SELECT count(*) FROM (SELECT {bits} AS a, {bits} AS b FROM range(1000)) WHERE a = b"
    ).fetchall() == [(0,)]
    assert one(con, f"SELECT count(*) FROM range(1000) WHERE {bits} = {bits}") == 0


def test_a_draw_that_is_read_twice_is_drawn_once(fresh):
    """In the shape in which a publication reads its bits: in both branches of a CASE of the next step."""
    con, bits = fresh
    half = "9223372036854775808::UBIGINT"
    apart = one(
        con,
        f"SELECT count(*) FROM (SELECT (b < {half}) AS low, CASE WHEN b < {half} THEN true ELSE false END AS again"
        f" FROM (SELECT {bits} AS b FROM range(5000))) WHERE low <> again",
    )
    assert apart == 0
    assert (
        one(
            con,
            f"SELECT count(*) FROM (SELECT {bits} AS b FROM range(5000)) WHERE b < {half} AND b >= {half}",
        )
        == 0
    )


def test_a_draw_is_not_moved_below_a_filter_or_join(fresh):
    con, bits = fresh
    rows = con.execute(
        f"SELECT count(*), count(DISTINCT b) FROM (SELECT i, {bits} AS b FROM range(1000) AS t(i))"
        " JOIN range(2) AS r(j) ON true WHERE i % 2 = 0"
    ).fetchall()
    assert rows == [(1000, 500)]


def test_missing_arguments_reach_the_function(fresh):
    """DuckDB answers NULL for NULL by itself, and then records without id would be published as missing."""
    con, bits = fresh
    assert one(con, f"SELECT count({bits}) FROM range(10)") == 10
    stream = randomness.open_stream(randomness.KeyedBits(bytes(32)))
    without_id = f"_priv_bits({stream}::UBIGINT, NULL::BIGINT, NULL::VARCHAR, 0::UINTEGER)"
    with pytest.raises(duckdb.InvalidInputException, match="has no noise"):
        con.execute(f"SELECT {without_id}")
    randomness.close_stream(stream)


def test_noise_are_the_bits_and_as_many_again_and_a_mark(con):
    keyed = randomness.open_stream(randomness.KeyedBits(bytes(32)))
    marks = randomness.open_stream(randomness.KeyedBits(bytes([1]) * 32))
    record = "::UBIGINT, i, NULL::VARCHAR, (i % 3)::UINTEGER"
    any_value = "::UBIGINT, i, NULL::VARCHAR, 0::UINTEGER"
    assert (
        one(
            con,
            "SELECT count_if(first_half = word AND second_half <> word AND mark = id_alone)"
            f" FROM (SELECT _priv_bits({keyed}{record}) AS word, _priv_bits({marks}{any_value}) AS id_alone,"
            f" unnest(_priv_random_bits({marks}::UBIGINT, {keyed}{record})) FROM range(5000) AS t(i))",
        )
        == 5000
    )
    for name, streams in (("bits", f"{keyed}"), ("random_bits", f"{marks}::UBIGINT, {keyed}")):
        of_integers = record.replace(" NULL::VARCHAR,", "")
        assert one(
            con,
            f"SELECT bool_and(_priv_{name}({streams}{record}) = _priv_integer_{name}({streams}{of_integers}))"
            " FROM range(5000) AS t(i)",
        )
    with pytest.raises(duckdb.InvalidInputException, match="has no noise"):
        con.execute(f"SELECT _priv_integer_bits({keyed}::UBIGINT, NULL::BIGINT, 0::UINTEGER)")
    fresh = randomness.open_stream(randomness.FreshBits())
    random_bits = f"_priv_random_bits(NULL::UBIGINT, {fresh}::UBIGINT, NULL::BIGINT, NULL::VARCHAR, 0::UINTEGER)"
    drawn = f"SELECT unnest([c.first_half, c.second_half]) AS word FROM (SELECT {random_bits} AS c FROM range(5000))"
    assert one(con, f"SELECT count(DISTINCT word) FROM ({drawn})") == 10_000
    for number in (keyed, marks, fresh):
        randomness.close_stream(number)


def test_pieces_and_threads_do_not_decide_what_keyed_bits_are(con):
    """Another symptom of a generator that draws "the next" bits."""
    number = randomness.open_stream(randomness.KeyedBits(bytes(32)))
    bits = f"_priv_bits({number}::UBIGINT, i, NULL::VARCHAR, (i % 3)::UINTEGER)"
    con.execute("CREATE TABLE many AS SELECT i FROM range(200_000) AS t(i)")
    sums = set()
    for threads in (1, 2, 4):
        con.execute(f"SET threads = {threads}")
        sums.add(one(con, f"SELECT sum({bits}::HUGEINT * (i % 1000)) FROM many"))
        sums.add(
            one(con, f"SELECT sum({bits}::HUGEINT * (i % 1000)) FROM (FROM many ORDER BY hash(i))")
        )
    randomness.close_stream(number)
    assert len(sums) == 1


def test_equal_records_without_ids_are_perturbed_each_on_its_own(con, published):
    con.execute("CREATE TABLE equal_rows AS SELECT 'x' AS s FROM range(10_000)")
    published(con, "equal_rows", "r", sensitive="s", retention=0.5, domain=["x", "y"])
    shown = one(con, "SELECT count(*) FROM r WHERE noisy_s = 'y'")
    assert abs(shown - 2500) < 6.2 * (10_000 * 0.25 * 0.75) ** 0.5


def test_equal_columns_without_ids_are_perturbed_each_on_its_own(con, published):
    con.execute(
        "CREATE TABLE equal_rows AS SELECT i % 2 AS a, i % 2 AS b FROM range(10_000) AS t(i)"
    )
    published(con, "equal_rows", "r", sensitive=["a", "b"], retention=0.5)
    agreed = one(con, "SELECT count(*) FROM r WHERE noisy_a = noisy_b")
    assert abs(agreed - 6250) < 6.2 * (10_000 * 0.625 * 0.375) ** 0.5


def test_two_publications_without_ids_differ_and_one_read_twice_does_not(visits, published):
    for release in ("one", "two"):
        published(visits, "visits", release, sensitive="disease", retention=0.5, public="id")
    rows = {
        release: visits.execute(f"FROM {release} ORDER BY id").fetchall()
        for release in ("one", "two")
    }
    assert rows["one"] != rows["two"]
    assert {tuple(visits.execute("FROM one ORDER BY id").fetchall()) for _ in range(5)} == {
        tuple(rows["one"])
    }


@pytest.mark.once
def test_a_second_database_draws_other_fresh_bits(prepared, published):
    rows = set()
    for _ in range(2):
        with prepared(bytes(range(100, 132))) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT i AS id, i % 5 AS s FROM range(200) AS t(i)"
            )
            published(connection, "t", "r", sensitive="s", retention=0.1, public="id")
            rows.add(tuple(connection.execute("FROM r ORDER BY id").fetchall()))
    assert len(rows) == 2

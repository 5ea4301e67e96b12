"""Every argument of everything in priv.* is given what nobody expects.

Whatever comes back as an error is ours, with a hint, or the words of DuckDB's own parser and binder, which did not let
the statement reach us. Nothing ends in an exception of Python, and nobody is shown more than the beginning of what they
gave.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import duckdb_priv

Connection = duckdb.DuckDBPyConnection

SEED = 20260727
USUAL, ON_DEMAND = 250, 10_000
OWN_WORDS = (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException)
"""What DuckDB raises before anything of a statement is done."""
OWN_WORDS_OF = {
    **dict.fromkeys(
        ("reconstructed_count", "reconstructed_stderr", "reconstructed_mle", "reconstructed_interval",
         "reconstructed_joint", "reconstructed_distribution", "weight"),
        (duckdb.ConversionException,),
    ),
    "load_hierarchy": (duckdb.IOException, duckdb.InvalidInputException),
    "connect": (duckdb.IOException, duckdb.ConnectionException),
    "reconstruct": (duckdb.InvalidInputException,),
}  # fmt: skip
"""What it raises of plain SQL: where a column is compared with a value of another type, a file is not there, or a
parameter is not given."""
TOO_MUCH = re.compile(r"(w|ä|x)\1{200}", re.DOTALL)

TABLES = """
CREATE TABLE visits AS SELECT i AS id, i % 5 AS ward, (20 + i % 40)::INTEGER AS age, 'd' || i % 7 AS disease,
    'x' || i % 3 AS drug FROM range(210) AS t(i);
CREATE TABLE wanted AS SELECT DISTINCT disease AS value, 0.1 AS rho1, 0.5 AS rho2 FROM visits;
CREATE TABLE public AS SELECT value, 0.1 AS frequency FROM wanted;
CREATE TABLE exchange AS SELECT a.value AS original, b.value AS published,
    if(a.value = b.value, 0.4, 0.1)::DOUBLE AS probability
    FROM wanted AS a, wanted AS b;
CREATE TABLE levels AS FROM priv.range_hierarchy('age', 10, low := 0, high := 99);
CREATE VIEW broken AS SELECT (disease || '!')::INTEGER AS id, disease FROM visits;
CREATE TABLE hostile AS SELECT i AS id,
    [NULL, '', chr(0), 'nan', repeat('ä', 5000), chr(13) || chr(10)][1 + i % 6] AS disease,
    ['nan', 'inf', '-0.0', '0.0', '1e308', NULL][1 + i % 6]::DOUBLE AS x FROM range(60) AS t(i);
CREATE TABLE questions AS FROM priv.workload('visits', sensitive := 'disease', queries := 5, record_id := 'id');
FROM priv.publish_uniform('visits', 'out', sensitive := 'disease', retention := 0.5, record_id := 'id');
"""

LONG = "repeat('w', 3000)"
HOSTILE = (
    "NULL", "''", "' '", "'x'", "'NaN'", LONG, f"'ä' || {LONG}", "chr(0)", "'a' || chr(0)", "chr(10) || 'b'",
    "'''; DROP TABLE visits; --'", "'\\'", "'/'", "'\"'", "'{condition}'", "'@sum@'", "'🤧'", "'out'",
    "'visits'", "'OUT.disease'", "'out.'", "'.'", "'broken'", "'hostile'", "'nowhere'",
    "'main.main.main.main'", "'temp.x'", "'priv.secret'", "'disease'", "'id'", "'age'", "'x; SELECT 1'", "0",
    "1", "-1", "2", "0.5", "-0.0", "1e-320", "1e23", "-1e23", "1e308", "'nan'::DOUBLE", "'inf'::DOUBLE",
    "'-inf'::DOUBLE", "9223372036854775807", "9223372036854775808", "170141183460469231731687303715884105727",
    "0.1::DECIMAL(38, 37)", "1::HUGEINT", "true", "false", "DATE '2020-01-01'", "DATE 'infinity'",
    "TIMESTAMP '0044-03-15 (BC) 00:00:00'", "INTERVAL '1 month'", "TIMETZ '10:00:00+05'", "'\\xFF'::BLOB",
    "'101'::BIT", "uuid()", "[]", "[NULL]", "[[]]", "['disease']", "['disease', 'disease']",
    "['disease', 'drug']", "[1, 2]", "['nan'::DOUBLE]", f"[{LONG}]", "range(50000)", "{'a': 1}",
    "{'disease': 1}", "{'age': 1}", "{'age': 'x'}", "{'disease': ['d1']}", "{'disease': 'wanted'}",
    "{'': NULL}", f"{{'w': {LONG}}}", "MAP {'a': 1}", "MAP {1: 2}", "{'a': {'b': [{'c': 1e23}]}}",
    "'1'::JSON", "'{\"a\": 1e999}'::JSON", "(SELECT 1)", "(SELECT disease FROM visits LIMIT 1)",
    "current_date", "lambda x: x",
)  # fmt: skip

USES = {
    "advise": "'visits', sensitive := 'disease', record_id := 'id', queries := 5, retentions := [0.5], gammas := [2],"
    " tolerances := [5], betas := [0.1]",
    "aggregate_utility": "'visits', 'out'",
    "amplification_gamma": "0.1, 0.5",
    "amplified_delta": "1e-6, 0.1",
    "amplified_epsilon": "1.0, 0.1",
    "audit": "'out'",
    "check_source": "'visits', sensitive := 'disease', record_id := 'id'",
    "date_hierarchy": "'born', DATE '2020-01-01', DATE '2020-02-01'",
    "drop_release": "'nothing'",
    "evaluate": "'visits', 'out', queries := 5",
    "evaluation_summary": "'visits', 'out', queries := 5",
    "exact_large_sum_threshold": "5, 0.3, 0.05",
    "expected_error": "'visits', 'out'",
    "export_release": "'out', '{folder}/out.duckdb'",
    "fine_grain_plan": "'visits', sensitive := 'disease', tolerance := 3",
    "laplace_count": "100, 0.1",
    "large_sum_threshold": "5, 0.3, 0.05",
    "ldp_epsilon": "0.3, 10",
    "ledger": "",
    "load_hierarchy": "'sex', '{folder}/sex.csv'",
    "lower_tail_bound": "0.5, 10, 0.3, 0.3, 100",
    "max_retention": "0.1, 0.5, 10",
    "micro_groups": "'visits', sensitive := 'disease', record_id := 'id', retention := 0.5, "
    "epsilon := 0.3, delta := 0.3",
    "propose_hierarchies": "'visits', exclude := ['id']",
    "publish_anatomy": "'visits', 'new', sensitive := 'disease', l := 3, record_id := 'id'",
    "publish_block_design": "'visits', 'new', sensitive := 'disease', epsilon := 1, record_id := 'id'",
    "publish_distribution": "'visits', 'new', sensitive := 'disease', record_id := 'id'",
    "publish_fine_grain": "'visits', 'new', sensitive := 'disease', tolerance := 8, "
    "record_id := 'id'",
    "publish_matrix": "'visits', 'new', sensitive := 'disease', matrix := 'exchange', "
    "record_id := 'id'",
    "publish_reconstruction_private": "'visits', 'new', sensitive := 'disease', retention := 0.5, epsilon := 0.3,"
    " delta := 0.3, record_id := 'id'",
    "publish_safe_k": "'visits', 'new', k := 2, beta := 0.5, epsilon := 2.0, hierarchies := 'levels',"
    " levels := {'age': 1}, public := ['age'], record_id := 'id'",
    "publish_splu": "'visits', 'new', sensitive := 'disease', gamma := 3, record_id := 'id', "
    "republish := true",
    "publish_uniform": "'visits', 'new', sensitive := 'disease', retention := 0.5, "
    "record_id := 'id'",
    "range_hierarchy": "'age', 5, 10, low := 0, high := 99",
    "ratio_attack": "'visits', sensitive := 'disease', record_id := 'id', epsilon_dp := 0.1, "
    "epsilon := 0.3, delta := 0.3",
    "reconstruction_risk": "'visits', sensitive := 'disease', record_id := 'id', retention := 0.5, "
    "epsilon := 0.3, delta := 0.3",
    "reconstruction_threshold": "0.5, 10, 0.3, 0.3, 0.3",
    "record_utility": "'out'",
    "rotate_secret": "",
    "sampling_delta": "20, 0.1, 1.0",
    "sampling_epsilon": "20, 0.1, 1e-6",
    "sampling_k": "0.1, 1.0, 1e-6",
    "shuffled_epsilon": "0.3, 10, 1000, 1e-6",
    "shuffled_retention": "1.0, 1e-6, 10, 1000",
    "small_sum_privacy": "5, 0.3, 3",
    "upper_tail_bound": "0.5, 10, 0.3, 0.3, 100",
    "workload": "'visits', sensitive := 'disease', queries := 5, record_id := 'id'",
    "reconstructed_count": "'out', noisy_disease, 'd1'",
    "reconstructed_distribution": "'out'",
    "reconstructed_interval": "'out', noisy_disease, 'd1'",
    "reconstructed_joint": "'out', ['disease'], ['d1']",
    "reconstructed_mle": "'out', noisy_disease, 'd1'",
    "reconstructed_stderr": "'out', noisy_disease, 'd1'",
    "weight": "'out', noisy_disease, 'd1'",
}
"""By name: arguments that are right."""


def fill(connection: Connection) -> None:
    connection.execute(TABLES).fetchall()


@pytest.fixture
def con(
    made: Callable[..., Connection], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    # A path that is made up may be one to write to.
    monkeypatch.chdir(tmp_path)
    with made(fill, secret=None) as connection:
        (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
        yield connection


def parameters(connection: Connection) -> dict[str, tuple[str, list[str]]]:
    """List what can be called: its kind, and the names of its arguments."""
    rows = connection.execute(
        "SELECT function_name, function_type, parameters FROM duckdb_functions() WHERE schema_name = 'priv'"
        " AND database_name = current_database() AND NOT starts_with(function_name, '_') ORDER BY ALL"
    ).fetchall()
    return {name: (kind, names) for name, kind, names in rows}


def right(name: str, folder: Path) -> str:
    """Return right arguments; none, for what is not known here."""
    return USES.get(name, "").replace("{folder}", str(folder))


def split(arguments: str) -> list[str]:
    """Split arguments at the commas that are in no bracket."""
    return [part.strip() for part in re.split(r",(?![^\[{]*[\]}])", arguments) if part.strip()]


def statement(name: str, kind: str, arguments: list[str]) -> str:
    call = f'priv."{name}"({", ".join(arguments)})'
    if kind == "table_macro":
        return f"FROM {call}"
    return (
        f"SELECT {call} FROM out"
        if name.startswith("reconstructed") or name == "weight"
        else f"SELECT {call}"
    )


def inputs(
    connection: Connection, folder: Path, seed: int, count: int
) -> Iterator[tuple[str, str]]:
    """Make statements: right ones in which one or two arguments are replaced, added, left out or doubled."""
    random_bits, known = random.Random(seed), parameters(connection)
    names = sorted(known)
    for _ in range(count):
        name = random_bits.choice(names)
        kind, takes = known[name]
        given = split(right(name, folder))
        for _ in range(random_bits.choice((1, 1, 2))):
            value = random_bits.choice(HOSTILE)
            what = random_bits.random()
            if what < 0.5 and given:
                place = random_bits.randrange(len(given))
                argument, *_ = given[place].split(" := ") if " := " in given[place] else ("",)
                given[place] = f"{argument} := {value}" if argument else value
            elif what < 0.9 and takes:
                argument = random_bits.choice(takes)
                given = [each for each in given if not each.startswith(f"{argument} := ")]
                given.append(f"{argument} := {value}")
            elif given:
                given.pop(random_bits.randrange(len(given)))
        yield name, statement(name, kind, given)


def complaint(error: BaseException, name: str) -> str | None:
    """Say what is wrong with an error, if anything is."""
    text = str(error)
    if not isinstance(error, duckdb.Error):
        return f"{type(error).__name__}: {text[:500]}"
    if "Python exception" in text or "Traceback" in text:
        return f"an exception of Python: {text[:500]}"
    if "Hint:" not in text:
        own = isinstance(error, OWN_WORDS + OWN_WORDS_OF.get(name, ()))
        return None if own else f"{type(error).__name__} without a hint: {text[:500]}"
    return f"repeats too much: {text[:300]}" if TOO_MUCH.search(text) else None


def run(connection: Connection, folder: Path, seed: int, count: int) -> list[str]:
    return [
        f"{sql}\n    {wrong}"
        for name, sql in inputs(connection, folder, seed, count)
        if (wrong := what_is_wrong(connection, name, sql))
    ]


def what_is_wrong(connection: Connection, name: str, sql: str) -> str | None:
    """Run a statement, and say what is wrong with the error it ends in, if anything is."""
    try:
        connection.execute(sql).fetchall()
    except BaseException as error:
        return complaint(error, name)
    return None


def test_what_is_called_right_is_answered(
    con: Connection, together: Callable[..., AbstractContextManager[None]], tmp_path: Path
) -> None:
    """Otherwise one replaced argument would not be what is refused."""
    known = parameters(con)
    assert set(USES) <= set(known)
    with together(con):
        for name in USES:
            kind, takes = known[name]
            more = (
                ["republish := true"]
                if "republish" in takes and "republish" not in USES[name]
                else []
            )
            given = [each.replace("'new'", f"'{name}'") for each in split(right(name, tmp_path))]
            if name != "drop_release":
                con.execute(statement(name, kind, given + more)).fetchall()


def test_whatever_is_given_is_answered_or_refused_in_words(con: Connection, tmp_path: Path) -> None:
    assert not run(con, tmp_path, SEED, USUAL)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("export_release", f"'out', 'ä' || {LONG}"),
        ("reconstructed_joint", f"'out', [{LONG}], ['d1']"),
        ("advise", f"{USES['advise']}, epsilon := 1e308"),
        ("advise", f"{USES['advise']}, epsilon := 1e-320"),
        ("ledger", "details := 'x'"),
        ("check_source", f"{USES['check_source']}, details := [1]"),
    ],
)
def test_what_once_was_answered_in_other_words(con: Connection, name: str, arguments: str) -> None:
    assert what_is_wrong(con, name, statement(name, "table_macro", [arguments])) is None


@pytest.mark.on_demand
def test_ten_thousand_inputs(con: Connection, tmp_path: Path) -> None:
    assert not run(con, tmp_path, SEED + 1, ON_DEMAND)


ORDINARY = "SELECT ward, count(*) FROM out WHERE disease = 'd1' GROUP BY ward"
OF_PYTHON: dict[str, dict[str, Any]] = {
    "connect": {"path": ":memory:", "secret": None, "encryption_key": None},
    "install": {"connection": "reader", "secret": None},
    "open_release": {"path": "out.duckdb", "trusted": False},
    "reconstruct": {"connection": "reader", "sql": ORDINARY, "intervals": True, "confidence": 0.9, "parameters": None},
    "rewrite_sql": {"release": "reader", "sql": ORDINARY, "intervals": True, "confidence": 0.9, "parameters": None},
}  # fmt: skip
"""By name of a function of Python: arguments that are right."""
GIVEN: tuple[Any, ...] = (
    None, "", " ", "x", "NaN", "w" * 3000, "ä" + "w" * 3000, "\0", "a\0", "\n", "/", ".", "garbage", "out.duckdb",
    "nowhere.duckdb", "priv.duckdb", "\ud800", "SELECT '\ud800'", 0, 1, -1, 0.5, math.nan, math.inf, 1e308, 10**400,
    True, b"", b"x" * 31, bytes(32), bytes(range(32)), bytearray(32), [], ["flu"], {}, {"a": 1}, (), {1}, object(), int,
    Decimal("0.95"), date(2020, 1, 1), Path("out.duckdb"), Path("."), lambda x: x, "SELECT 1", "SELECT (",
    "SELECT count(*) FROM out WHERE disease = '" + "w" * 3000 + "'", "SELECT " + "w" * 3000 + " FROM out",
    "SELECT count(*) FROM out; DROP TABLE out", "SELECT count(*) FROM out WHERE disease = $1",
    "(" * 500 + "SELECT count(*) FROM out WHERE disease = 'd1'" + ")" * 500,
    "SELECT count(*) FROM out WHERE " + "NOT " * 3000 + "disease = 'd1'",
)  # fmt: skip


def of_python(con: Connection, folder: Path, count: int) -> list[str]:
    """Call the functions of Python with one argument that nobody expects."""
    con.execute("FROM priv.export_release('out', 'out.duckdb')").fetchall()
    (folder / "garbage").write_bytes(bytes(5000))
    random_bits, found = random.Random(SEED), []
    with duckdb_priv.open_release("out.duckdb") as reader:
        for _ in range(count):
            name = random_bits.choice(sorted(OF_PYTHON))
            arguments = OF_PYTHON[name] | {
                random_bits.choice(list(OF_PYTHON[name])): random_bits.choice([*GIVEN, con, reader])
            }
            arguments = {
                key: reader if value == "reader" else value for key, value in arguments.items()
            }
            try:
                answer = getattr(duckdb_priv, name)(**arguments)
            except BaseException as error:
                text = str(error)
                own = OWN_WORDS + OWN_WORDS_OF.get(name, ())
                if not isinstance(error, (duckdb_priv.PrivError, *own)):
                    wrong = f"{type(error).__name__}: {text[:300]}"
                elif isinstance(error, duckdb_priv.PrivError) and "Hint:" not in text:
                    wrong = f"no hint: {text[:300]}"
                elif isinstance(error, duckdb_priv.PrivError) and TOO_MUCH.search(text):
                    wrong = f"repeats too much: {text[:300]}"
                else:
                    continue
                found.append(f"{name}({str(arguments)[:300]})\n    {wrong}")
            else:
                if name in ("connect", "open_release"):
                    answer.close()
    return found


def test_functions_of_python_answer_or_refuse_in_words(con: Connection, tmp_path: Path) -> None:
    assert not of_python(con, tmp_path, USUAL // 2)


@pytest.mark.on_demand
def test_functions_of_python_with_thousands_of_inputs(con: Connection, tmp_path: Path) -> None:
    assert not of_python(con, tmp_path, ON_DEMAND // 4)

"""The shell of duckdb-cli as a person uses it, with a release from this project."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess

import pytest

from clients.installation import PATH

SHELL = shutil.which("duckdb", path=PATH)
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>]|\][^\x07]*\x07)")

pytestmark = pytest.mark.skipif(
    SHELL is None, reason="the command duckdb of duckdb-cli is not installed"
)


def test_on_a_terminal(releases, tmp_path):
    """Typed in, read from the screen."""
    pexpect = pytest.importorskip("pexpect", reason="terminals need pexpect, which Windows lacks")
    release = releases["uniform"]
    question = (
        "SELECT priv.reconstructed_count('uniform', noisy_disease, 'flu') AS estimate FROM uniform"
    )
    (((expected,),), *_) = _ask(release, question)
    terminal = pexpect.spawn(
        str(SHELL),
        ["-init", os.devnull, "-dark-mode", "-readonly", str(release.path)],
        env={**os.environ, "TERM": "xterm", "HOME": str(tmp_path)},
        encoding="utf-8",
        timeout=600,
        dimensions=(40, 150),
    )
    terminal.sendline(".mode csv")
    terminal.sendline(f"{question};")
    terminal.sendline("SELECT 'the ' || 'end';")
    terminal.expect("the end")
    screen = ESCAPES.sub("", terminal.before)
    terminal.sendline(".quit")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert f"estimate\r\n{expected}\r\n" in screen.replace("\r\r\n", "\r\n")


def _ask(release, question: str) -> list:
    import duckdb

    with duckdb.connect(str(release.path), read_only=True) as reader:
        return [reader.execute(f"SELECT COLUMNS(*)::VARCHAR FROM ({question})").fetchall()]


@pytest.mark.parametrize(
    ("question", "reported"),
    [
        (
            "SELECT priv.reconstructed_count('uniform', noisy_disease, 'gout') FROM uniform",
            "'asthma', 'cancer', 'flu', 'none', NULL",
        ),
        (
            "SELECT priv.reconstructed_count('uniformed', noisy_disease, 'flu') FROM uniform",
            'there is "uniform"',
        ),
        ("FROM priv.reconstructed_distribution('uniform.drug')", 'there is "uniform"'),
        (
            "SELECT priv.reconstructed_interval('uniform', noisy_disease, 'flu', confidence := 95) FROM uniform",
            "between 0 and 1",
        ),
        (
            "FROM priv.publish_uniform('uniform', 'again', sensitive := 'disease')",
            "publish_uniform does not exist",
        ),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_right(releases, question, reported):
    done = subprocess.run(
        [str(SHELL), "-init", os.devnull, str(releases["uniform"].path), "-c", question],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode != 0
    assert reported in done.stderr


def test_a_release_explains_itself(releases):
    """What a person finds who has only the file: tables, comments, guarantees."""
    questions = [
        "SELECT comment FROM duckdb_tables() WHERE table_name = 'uniform'",
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'uniform' AND column_name = 'noisy_disease'",
        "SELECT count(*), count(comment) FROM duckdb_functions() WHERE schema_name = 'priv'",
        "SELECT statement FROM priv.guarantee",
    ]
    asked = [part for question in questions for part in ("-c", question)]
    done = subprocess.run(
        [
            str(SHELL),
            "-init",
            os.devnull,
            "-noheader",
            "-list",
            str(releases["uniform"].path),
            *asked,
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    table, column, macros, *statements = done.stdout.splitlines()
    assert "priv.reconstructed_count" in table
    assert "a plain count of these values is biased" in column
    counted, commented = macros.split("|")
    assert counted == commented != "0"
    assert statements


def test_two_people_read_at_once(releases):
    command = [
        str(SHELL),
        "-init",
        os.devnull,
        "-readonly",
        "-noheader",
        "-list",
        str(releases["uniform"].path),
    ]
    question = "SELECT count(*) FROM uniform"
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert first.stdin is not None
    assert first.stdout is not None
    first.stdin.write(f"{question};\n")
    first.stdin.flush()
    assert first.stdout.readline() == "6000\n"
    second = subprocess.run([*command, "-c", question], capture_output=True, text=True, check=True)
    assert second.stdout == "6000\n"
    first.communicate()
    assert first.returncode == 0


@pytest.mark.parametrize(
    "damage", ["empty", "another file", "header", "truncated", "cut short", "a bit", "another bit"]
)
def test_a_damaged_file_gives_no_wrong_number(releases, tmp_path, damage):
    """DuckDB refuses it, or answers from what is whole."""
    question = "SELECT priv.reconstructed_count('uniform', noisy_disease, 'flu') FROM uniform"
    whole = releases["uniform"].path.read_bytes()
    # The bits are in a block that is read: that of the macros' text.
    place = whole.index(b"records of release")
    flipped = bytearray(whole)
    flipped[place + (damage == "another bit") * 100] ^= 1
    path = tmp_path / "release.duckdb"
    path.write_bytes(
        {
            "empty": b"",
            "another file": b"patient,disease\n" * 9999,
            "header": whole[:12_288],
            "truncated": whole[: len(whole) // 10],
            "cut short": whole[: len(whole) // 3],
            "a bit": bytes(flipped),
            "another bit": bytes(flipped),
        }[damage]
    )
    asked = [str(SHELL), "-init", os.devnull, "-readonly", "-noheader", "-list"]
    done = subprocess.run(
        [*asked, str(path), "-c", question],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    (right,) = _ask(releases["uniform"], question)[0]
    assert (done.returncode != 0 and not done.stdout) or done.stdout == f"{right[0]}\n"
    assert done.returncode != 0 or damage == "cut short"


def test_from_show_tables_to_a_right_count_in_two_statements(prepared, without_cards, tmp_path):
    """Someone who has the file and the shell reads READ_ME, and pastes its first statement."""
    path = tmp_path / "visits_public.duckdb"
    with without_cards(), prepared() as con:
        con.execute(
            "CREATE TABLE visits AS SELECT i AS id, if(i % 2 = 0, 'f', 'm') AS gender,"
            " ['asthma', 'cold', 'flu', 'flu', 'rare'][1 + (i * i) % 97 % 5] AS disease FROM range(8000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('visits', 'visits_public', sensitive := 'disease', retention := 0.4,"
            " record_id := 'id')"
        )
        con.execute("FROM priv.export_release('visits_public', ?)", [str(path)])
        truth = dict(con.execute("SELECT disease, count(*) FROM visits GROUP BY ALL").fetchall())

    def answer(statement: str) -> list[list[str]]:
        done = subprocess.run(
            [str(SHELL), "-init", os.devnull, "-csv", "-readonly", str(path), "-c", statement],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return list(csv.reader(io.StringIO(done.stdout)))

    assert ["READ_ME"] in answer("SHOW TABLES")
    read = [line for (line,) in answer("FROM READ_ME")]
    asked = next(line for line in read if line.startswith("    FROM"))
    header, *rows = answer(asked)
    assert header == ["value", "estimate", "low", "high", "noisy_count"]
    assert {value for value, *_ in rows} == {*truth}
    for value, *numbers in rows:
        estimate, low, high, _ = map(int, numbers)
        assert 0 <= low <= truth[value] <= high
        assert low <= estimate <= high

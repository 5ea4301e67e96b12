"""SQL in files: found, filled and quoted, whatever names and values look like."""

from __future__ import annotations

import math
import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import body, computed, fill, template

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
HOSTILE = [
    "it's",
    'we"ird',
    "';--",
    "\\'",
    "@estimate@",
    "{condition}",
    "$1",
    "?",
    "%s",
    "\n--\n",
    "/*",
    "名前",
    "\x7f\x01",
]


@pytest.fixture(scope="module")
def plain():
    with duckdb.connect() as connection:
        yield connection


@pytest.mark.parametrize("text", HOSTILE)
def test_a_literal_reads_back_as_it_was(plain, text):
    assert plain.execute(f"SELECT {literal(text)}").fetchall() == [(text,)]


@given(TEXTS)
def test_every_text_reads_back_as_it_was(plain, text):
    assert plain.execute(f"SELECT {literal(text)}").fetchall() == [(text,)]


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1))
def test_every_number_reads_back_as_it_was(plain, number):
    ((read,),) = plain.execute(f"SELECT {literal(number)}").fetchall()
    assert read == number
    assert type(read) is type(number)
    assert math.copysign(1, read) == math.copysign(1, number)


@pytest.mark.parametrize("value", [None, True, False])
def test_truth_values_and_nothing_read_back(plain, value):
    assert plain.execute(f"SELECT {literal(value)}").fetchall() == [(value,)]


def test_a_text_with_nul_is_refused():
    with pytest.raises(InvalidParameter, match="the character NUL"):
        literal("a\0b")


@pytest.mark.parametrize("name", HOSTILE)
def test_an_identifier_names_what_it_says(plain, name):
    described = plain.execute(f"DESCRIBE SELECT 1 AS {identifier(name)}").fetchall()
    assert described[0][0] == name


@given(TEXTS.filter(bool))
def test_every_identifier_names_what_it_says(plain, name):
    assert plain.execute(f"DESCRIBE SELECT 1 AS {identifier(name)}").fetchall()[0][0] == name


def test_only_places_of_our_own_are_filled():
    """What users bring looks like a place, and is not one."""
    data = literal("@more@ {condition}")
    filled = fill(template("@shown@ + @more@"), {"shown": data, "more": "1"})
    assert filled == "'@more@ {condition}' + 1"
    argument = {"condition": "_c"}
    assert computed(template("SELECT ") + data, argument) == literal(f"SELECT {data}")


def test_an_unknown_place_is_an_error_and_does_not_stay():
    with pytest.raises(KeyError):
        fill(template("@nothing@"), {})
    with pytest.raises(KeyError):
        computed(template("{nothing}"), {})


def test_comments_are_left_out_of_expressions():
    assert body("-- one\n-- two\n\n1 +\n-- three\n2\n") == "1 +\n2"


def test_every_file_is_found_and_says_what_it_is():
    folders = [path for path in templates.root().rglob("*") if path.is_dir()]
    assert {"catalog", "analyst", "publisher", "migrations"} <= {path.name for path in folders}
    files = list(templates.root().rglob("*.sql"))
    assert len(files) > 30
    for path in files:
        folder = path.parent.relative_to(templates.root()).as_posix()
        assert path.stem in templates.names(folder)
        assert templates.read(folder, path.stem).startswith("-- "), path


def test_no_file_pastes_text_into_quotes():
    """A place between quotes would let a value end the text around it."""
    for path in templates.root().rglob("*.sql"):
        assert not re.search(r"'@[a-z_]+@'", path.read_text("utf-8")), path


def test_texts_that_a_reader_parses_write_functions_of_lists_with_the_word():
    """DuckDB 2 does not know them with an arrow."""
    folders = ("analyst/fragments", "analyst/ordinary")
    texts = {
        name: body(templates.read(folder, name))
        for folder in folders
        for name in templates.names(folder)
    }
    assert [name for name, text in texts.items() if "->" in text] == []

"""A text that is looked up in a list is the ENUM that a cast gives, or the cast's error."""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import SEARCHED, enum, looked_up

VALUES = {
    "few": ["flu", "", "it's", "\x1f", "Flu", "flu ", "\N{GREEK SMALL LETTER ALPHA}\n"],
    "many": [f"value {number}" for number in range(SEARCHED + 1)],
    "one": ["flu"],
}


@pytest.fixture(params=VALUES)
def values(request) -> list[str]:
    return VALUES[request.param]


@pytest.fixture
def found(values: list[str]) -> str:
    return qualified(looked_up("text", values, enum(values)))


def test_a_text_is_the_enum_that_a_cast_gives(values, found, tmp_path):
    with duckdb.connect() as con:
        con.execute("CREATE TABLE texts(text VARCHAR)")
        rows = [*values, None] * 3
        con.executemany("INSERT INTO texts VALUES (?)", [[each] for each in rows])
        con.execute(f"COPY texts TO '{tmp_path}/texts.parquet'")
        for source in ("texts", f"'{tmp_path}/texts.parquet'"):
            read = con.sql(f"SELECT {found} AS found, text::{enum(values)} AS given FROM {source}")
            assert read.types[0] == read.types[1]
            assert read.fetchall() == [(each, each) for each in rows]


@pytest.mark.parametrize("collation", ["", "nocase"])
def test_a_text_that_is_none_of_them_is_an_error(found, collation):
    with duckdb.connect() as con:
        con.execute(f"SET default_collation = '{collation}'")
        for other in ("FLU", "flu  ", "value"):
            con.execute("CREATE OR REPLACE TABLE texts AS SELECT ? AS text", [other])
            with pytest.raises(duckdb.ConversionException, match="Could not convert"):
                con.sql(f"SELECT {found} FROM texts").fetchall()

"""What must hold for every method: one table of cases, the same questions to each.

``methods.sql`` has a small world and one publication by each method. ``python3 dev.py test --method splu`` runs what is
asked of one method here. On the oldest DuckDB, each method answers where its own SQL decides: how it draws, counts,
audits and is refreshed. One method answers the others, whose SQL is the same for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import pytest
from answers import named_row, rows
from comparing import nearly

import duckdb_priv
from duckdb_priv.methods.register import METHODS
from duckdb_priv.release.arguments import specs

Connection = duckdb.DuckDBPyConnection
PARTS = re.split(
    r"^-- (?:world|method): ?(\w*)$",
    Path(__file__).with_name("methods.sql").read_text("utf-8"),
    flags=re.MULTILINE,
)[1:]
WORLD, *CASES = zip(PARTS[::2], PARTS[1::2], strict=True)
STATEMENTS = {name: text.strip().removesuffix(";") for name, text in CASES}
SURE = "confidence := 0.999999999"
"""Intervals of this confidence hold the truth, in these releases, whose noise is the same in every run."""


@dataclass(frozen=True)
class Case:
    """A method, its publication, and how one of its values is counted."""

    method: str
    statement: str

    @property
    def source(self) -> str:
        found = re.search(r"'(\w+)'", self.statement)
        return found[1] if found else ""

    @property
    def perturbs(self) -> bool:
        return METHODS[self.method].sensitive

    @property
    def attribute(self) -> str:
        if not self.perturbs:
            return "age"
        return {"reactions": "reaction", "stays": "days", "visits": "disease"}[self.source]

    @property
    def column(self) -> str:
        return f"noisy_{self.attribute}" if self.perturbs else self.attribute

    @property
    def value(self) -> str:
        return {"age": "'30'", "days": "'3'", "reaction": "'r07'", "disease": "'flu'"}[
            self.attribute
        ]

    def publish(
        self, connection: Connection, *more: str, source: str = "", release: str = "r"
    ) -> dict:
        """Run the publication, with more arguments, from another source or under another name."""
        call = self.statement.removesuffix(")") + "".join(f", {each}" for each in more) + ")"
        if source:
            call = call.replace(f"'{self.source}'", f"'{source}'", 1)
        return named_row(connection, call.replace("'r'", f"'{release}'", 1))

    def asked(self, connection: Connection, value: str = "", release: str = "r") -> str:
        """Write the arguments of a count."""
        weight = ", weight := scale" if "scale" in columns(connection, release) else ""
        return f"'{release}.{self.attribute}', {self.column}, {value or self.value}{weight}"


BY_METHOD = {name: Case(name, text) for name, text in STATEMENTS.items()}
every_method = pytest.mark.parametrize("method", BY_METHOD)
perturbing = pytest.mark.parametrize(
    "method", [name for name in BY_METHOD if METHODS[name].sensitive]
)
appending = pytest.mark.parametrize(
    "method", [name for name in BY_METHOD if "append" in specs(METHODS[name].arguments)]
)


def columns(connection: Connection, table: str = "r") -> list[str]:
    return [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]


def _world(connection: Connection) -> None:
    connection.execute(WORLD[1])


def _published(connection: Connection, method: str) -> None:
    _world(connection)
    BY_METHOD[method].publish(connection)


@pytest.fixture
def case(method: str) -> Case:
    return BY_METHOD[method]


@pytest.fixture
def con(made: Callable[..., Connection]) -> Iterator[Connection]:
    """A publisher's database in which nothing is published yet."""
    with made(_world) as connection:
        yield connection


@pytest.fixture(scope="module")
def opened(made: Callable[..., Connection]) -> Iterator[Callable[[str], Connection]]:
    with ExitStack() as open_ones:
        yield cache(lambda method: open_ones.enter_context(made(_published, method)))


@pytest.fixture
def released(opened: Callable[[str], Connection], method: str) -> Connection:
    """One in which the method has published its release, for tests that change nothing."""
    return opened(method)


@pytest.fixture
def living(made: Callable[..., Connection], method: str) -> Iterator[Connection]:
    """One in which the method has published its release, for a test that changes it."""
    with made(_published, method) as connection:
        yield connection


@pytest.mark.once
def test_every_method_is_in_the_contract() -> None:
    assert set(BY_METHOD) == set(METHODS)


# Publishing.


@every_method
def test_the_table_is_what_the_receipt_and_the_catalog_say(
    released: Connection, case: Case
) -> None:
    ((mechanism, published),) = rows(released, "SELECT mechanism, rows_published FROM priv.release")
    assert mechanism == case.method
    assert rows(released, "SELECT count(*) FROM r") == [(published,)]
    names = columns(released)
    assert "id" not in names
    assert case.column in names
    catalog = dict(rows(released, "SELECT column_name, role FROM priv.attribute"))
    assert set(catalog) <= set(names)
    for public in ("age", "ward"):
        assert (
            catalog[public] == ("public" if case.perturbs else "generalized") or not case.perturbs
        )


@every_method
def test_public_columns_stay_what_they_were(released: Connection, case: Case) -> None:
    if "scale" in columns(released):
        pytest.skip("rows stand for several records")
    public = "SELECT age, ward, count(*) FROM {} GROUP BY ALL"
    if case.perturbs:
        assert not rows(released, f"{public.format(case.source)} EXCEPT {public.format('r')}")


@pytest.mark.every
@every_method
def test_the_order_of_rows_says_nothing(released: Connection) -> None:
    assert rows(released, "FROM r") == rows(released, "FROM r ORDER BY ALL")


@perturbing
def test_threads_and_the_order_of_the_source_change_nothing(
    con: Connection, released: Connection, case: Case
) -> None:
    """But for samples, which are fresh in every publication."""
    con.execute("SET threads = 4")
    con.execute(
        f"CREATE OR REPLACE TABLE {case.source} AS FROM {case.source} ORDER BY {case.attribute}, hash(id)"
    )
    case.publish(con)
    assert rows(con, "FROM r") == rows(released, "FROM r")


@every_method
def test_what_cannot_be_published_is_refused_and_leaves_nothing(
    con: Connection, case: Case, inventory: Callable[[Connection], dict]
) -> None:
    con.execute(f"CREATE TABLE empty AS FROM {case.source} LIMIT 0")
    con.execute(f"CREATE TABLE twice AS FROM {case.source} UNION ALL FROM {case.source} LIMIT 3500")
    con.execute(
        f"CREATE TABLE unnamed AS SELECT * REPLACE (nullif(id, 'patient-000007') AS id) FROM {case.source}"
    )
    before = inventory(con)
    for source, words in (
        ("missing", "missing"),
        ("empty", "no row|empty|no record"),
        ("twice", "id"),
        ("unnamed", "id"),
    ):
        with pytest.raises(duckdb.Error, match=words) as caught:
            case.publish(con, source=source)
        assert "patient-" not in str(caught.value)
    with pytest.raises(duckdb.Error, match="missing"):
        case.publish(con, "public := ['missing']")
    with pytest.raises(duckdb.Error):
        case.publish(con, release="visits")
    assert inventory(con) == before


@every_method
def test_any_name_is_a_name(con: Connection, case: Case) -> None:
    con.execute(f"""CREATE TABLE "we""ird; --" AS FROM {case.source}""")
    receipt = case.publish(con, source='we"ird; --', release="sel{}ect @estimate@")
    assert receipt["release"] == "sel{}ect @estimate@"
    assert rows(con, 'SELECT count(*) > 0 FROM "sel{}ect @estimate@"') == [(True,)]


@every_method
def test_dropping_a_release_leaves_its_lines_in_the_ledger_only(
    living: Connection, case: Case
) -> None:
    charged = rows(living, "SELECT count(*) FROM priv.ledger()")
    rows(living, "FROM priv.drop_release('r')")
    assert rows(living, "SELECT count(*) FROM priv.ledger()") == charged
    for table in ("release", "attribute", "coefficient", "guarantee"):
        assert rows(living, f"SELECT count(*) FROM priv.{table}") == [(0,)], table
    with pytest.raises(duckdb.Error):
        living.execute("FROM r")


# Counting.


@pytest.mark.every
@every_method
def test_counts_hold_the_truth_and_agree_with_each_other(released: Connection, case: Case) -> None:
    asked = case.asked(released)
    ((estimate, stderr, interval),) = rows(
        released,
        f"SELECT priv.reconstructed_count({asked}), priv.reconstructed_stderr({asked}),"
        f" priv.reconstructed_interval({asked}, {SURE}) FROM r",
    )
    ((truth,),) = rows(
        released,
        f"SELECT count(*) FROM {case.source} WHERE {case.attribute}::VARCHAR = {case.value}",
    )
    assert interval["estimate"] == pytest.approx(estimate, rel=1e-9)
    assert interval["stderr"] == pytest.approx(stderr, rel=1e-9)
    assert interval["low"] <= truth <= interval["high"]
    assert interval["low"] <= max(estimate, 0)
    narrower = rows(
        released, f"SELECT priv.reconstructed_interval({asked}, confidence := 0.5) FROM r"
    )[0][0]
    assert interval["low"] <= narrower["low"] <= narrower["high"] <= interval["high"]


@pytest.mark.every
@every_method
@pytest.mark.parametrize(("by", "function"), [("inverse", "interval"), ("bayesian", "mle")])
def test_groups_are_those_of_the_distribution(
    released: Connection, case: Case, by: str, function: str
) -> None:
    weight = ", weight := 'scale'" if "scale" in columns(released) else ""
    grouped = rows(
        released,
        f"SELECT ward::VARCHAR AS ward, priv.reconstructed_{function}({case.asked(released)}) FROM r"
        " WHERE age::VARCHAR <> '20' GROUP BY ward ORDER BY ward",
    )
    listed = rows(
        released,
        "SELECT ward::VARCHAR AS ward, estimate, stderr, low, high FROM priv.reconstructed_distribution("
        f"'r.{case.attribute}', group_columns := 'ward', condition := 'age::VARCHAR <> ''20''', method := '{by}'"
        f"{weight}) WHERE value = {case.value} ORDER BY ward",
    )
    for (group, found), (ward, *answer) in zip(grouped, listed, strict=True):
        assert group == ward
        if function == "mle":
            assert found == pytest.approx(answer[0], abs=0.5)
        else:
            assert list(found.values()) == pytest.approx(answer, rel=1e-9, abs=1e-9)


@pytest.mark.every
@every_method
def test_weights_of_rows_add_up_to_the_count(released: Connection, case: Case) -> None:
    asked = case.asked(released)
    by_row = asked if METHODS[case.method].jointly else asked.replace(", weight := scale", "")
    times = " * scale" if by_row != asked else ""
    (counted,) = rows(
        released,
        f"SELECT priv.reconstructed_count({asked}), sum(priv.weight({by_row}){times}) FROM r",
    )
    assert counted[1] == pytest.approx(counted[0], rel=1e-9, abs=1e-6)


@pytest.mark.every
@every_method
def test_no_rows_hold_nobody(released: Connection, case: Case) -> None:
    ((found,),) = rows(
        released, f"SELECT priv.reconstructed_interval({case.asked(released)}) FROM r WHERE false"
    )
    assert (found["estimate"], found["low"]) == (0, 0)


@pytest.mark.every
@every_method
def test_wrong_questions_are_errors_that_say_what_there_is(
    released: Connection, case: Case
) -> None:
    asked = case.asked(released)
    for wrong, words in (
        (asked.replace(f"r.{case.attribute}", f"other.{case.attribute}"), r'"r'),
        (asked.replace(f"r.{case.attribute}", "r.other"), r'"r'),
        (asked.replace(case.value, "'no such value'"), "no such value"),
    ):
        with pytest.raises(duckdb.Error, match=words):
            released.execute(f"SELECT priv.reconstructed_count({wrong}) FROM r")
    if "scale" in columns(released):
        with pytest.raises(duckdb.Error, match="weight := scale"):
            released.execute(
                f"SELECT priv.reconstructed_count({asked.replace(', weight := scale', '')}) FROM r"
            )


# What a publisher asks.


@pytest.mark.every
@every_method
def test_the_audit_bears_every_claim_out(released: Connection) -> None:
    found = rows(released, "SELECT holds FROM priv.audit('r')")
    assert (True,) in found
    assert (False,) not in found


@every_method
def test_no_statement_says_words_twice(released: Connection) -> None:
    stated = "SELECT statement FROM priv.guarantee UNION ALL SELECT statement FROM priv.audit('r')"
    for (statement,) in rows(released, stated):
        assert re.search(r"\b(\w+(?: \w+)*) \1\b", statement) is None, statement


@every_method
def test_the_ledger_charges_it(released: Connection, case: Case) -> None:
    found = rows(released, "SELECT DISTINCT mechanism FROM priv.ledger")
    assert found == [(case.method,)]


@every_method
def test_it_is_evaluated_beside_the_truth(released: Connection, case: Case) -> None:
    ((queries, coverage),) = rows(
        released,
        f"SELECT count(*), avg(covered::INTEGER) FROM priv.evaluate('{case.source}', 'r', {SURE})",
    )
    assert queries > 5
    assert coverage == 1


# Afterwards.


@every_method
def test_a_file_gives_the_same_answers_and_holds_nothing_private(
    released: Connection, case: Case, tmp_path: Path, without_cards: Callable
) -> None:
    path = tmp_path / "r.duckdb"
    with without_cards():
        rows(released, f"FROM priv.export_release('r', '{path}')")
    asked = case.asked(released)
    question = (
        f"SELECT age, unnest(priv.reconstructed_interval({asked})) FROM r GROUP BY age ORDER BY age"
    )
    expected = rows(released, question)
    with duckdb.connect(str(path), read_only=True) as analyst:
        assert rows(analyst, question) == nearly(expected)
        assert rows(analyst, "FROM r") == rows(released, "FROM r")
        assert not rows(
            analyst,
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal AND macro_definition IS NULL",
        )
        private = {"secret", "ledger", "source", "publication", "budget"}
        tables = {row[0] for row in rows(analyst, "SELECT table_name FROM duckdb_tables()")}
        assert not tables & private
    with duckdb.connect() as analyst:
        analyst.execute(f"ATTACH '{path}' AS handed (READ_ONLY)")
        there = question.replace("priv.", "handed.priv.").replace("FROM r", "FROM handed.r")
        assert rows(analyst, there) == nearly(expected)
    content = path.read_bytes()
    assert b"patient-" not in content
    assert bytes(range(32)) not in content


@every_method
def test_a_folder_of_parquet_gives_the_same_answers(
    released: Connection,
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_cards: Callable,
) -> None:
    folder = tmp_path / "folder"
    with without_cards():
        rows(released, f"FROM priv.export_release('r', '{folder}', format := 'parquet')")
    question = f"SELECT priv.reconstructed_interval({case.asked(released)}) FROM r"
    monkeypatch.chdir(folder)
    with duckdb.connect() as analyst:
        analyst.execute((folder / "setup.sql").read_text("utf-8"))
        assert rows(analyst, question) == nearly(rows(released, question))


@pytest.mark.every
@every_method
def test_it_follows_its_source(living: Connection, case: Case) -> None:
    refreshing = METHODS[case.method].refreshing
    first = rows(living, "FROM r")
    rows(living, "FROM priv.refresh('r')")
    if refreshing.keeps:
        assert rows(living, "FROM r") == first
    living.execute(f"DELETE FROM {case.source} WHERE id = 'patient-000007'")
    before = rows(living, "FROM r")
    if refreshing.refused or refreshing.charged or case.method == "fine_grain":
        with pytest.raises(duckdb.Error, match="Hint:"):
            living.execute("FROM priv.refresh('r')").fetchall()
        assert rows(living, "FROM r") == before
    else:
        rows(living, "FROM priv.refresh('r')")
        assert (False,) not in rows(living, "SELECT holds FROM priv.audit('r')")
    assert rows(living, "SELECT count(*) FROM priv.release") == [(1,)]


@every_method
def test_a_coarser_release_is_made_where_noise_on_top_makes_one(
    living: Connection, case: Case
) -> None:
    call = "FROM priv.derive('r', 'coarse', retention := 0.1)"
    if not METHODS[case.method].derives:
        with pytest.raises(duckdb.Error, match="Hint:"):
            living.execute(call).fetchall()
        return
    living.execute(call).fetchall()
    assert rows(living, "SELECT count(*) FROM coarse") == rows(living, "SELECT count(*) FROM r")
    assert (False,) not in rows(living, "SELECT holds FROM priv.audit('coarse')")


@pytest.mark.every
@appending
def test_new_records_are_appended_where_that_is_offered(living: Connection, case: Case) -> None:
    before = rows(living, "SELECT count(*) FROM r")[0][0]
    living.execute(
        f"INSERT INTO {case.source} SELECT * REPLACE ('patient-1' || id AS id) FROM {case.source}"
        f" WHERE {case.attribute} IS DISTINCT FROM 'none' AND id[-1] IN ('1', '4')"
    )
    case.publish(living, "append := true")
    assert rows(living, "SELECT count(*) FROM r")[0][0] > before


@pytest.mark.once
def test_what_is_advised_runs(con: Connection, made: Callable[..., Connection]) -> None:
    con.execute(
        "CREATE TABLE all_hierarchies AS FROM hierarchies UNION ALL"
        " SELECT 'disease', disease, level, if(level = 0, disease, 'any')"
        " FROM (SELECT DISTINCT disease FROM visits), (SELECT unnest([0, 1]) AS level)"
    )
    found = dict(
        rows(
            con,
            "SELECT mechanism, first(statement) FROM priv.advise('visits', sensitive := 'disease', record_id := 'id',"
            " epsilon := 2, delta := 1e-6, hierarchies := 'all_hierarchies',"
            " levels := {'age': 0, 'ward': 0, 'disease': 0}, queries := 100) GROUP BY mechanism",
        )
    )
    assert set(found) <= {name for name, method in METHODS.items() if method.grid}
    assert len(found) > 4
    for mechanism, statement in found.items():
        with made(_world) as fresh:
            (receipt,) = rows(con if "hierarchies" in statement else fresh, statement)
        assert receipt[1] == mechanism


@pytest.mark.once
def test_the_world_is_made_without_us() -> None:
    with duckdb.connect() as plain:
        plain.execute(WORLD[1])
        assert rows(plain, "SELECT count(*), count(DISTINCT id) FROM visits") == [(3000, 3000)]
    assert duckdb_priv.__version__

"""A frame of Spark gives the release that DuckDB gives: rows, catalog, ledger, functions, and the same bytes."""

from __future__ import annotations

import contextlib
import pickle
import runpy
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from spark.tables import PERSONS, contents, files, sql

import duckdb_priv.spark
from duckdb_priv.engine import marking
from duckdb_priv.errors import PrivError, PublicationFailed
from duckdb_priv.publisher import placing
from duckdb_priv.publisher.check import examination
from duckdb_priv.spark import tasks, writing
from duckdb_priv.spark.writing import sort_encodings

pytestmark = pytest.mark.usefixtures("plain")

Connection = duckdb.DuckDBPyConnection

EXCHANGE = """
    CREATE TABLE exchange AS
    SELECT a AS original, b AS published, if(a IS NOT DISTINCT FROM b, 0.6, 0.1) AS probability
    FROM (VALUES ('cough'), ('cold'), ('flu'), ('zoster'), (NULL)) AS s(a),
        (VALUES ('cough'), ('cold'), ('flu'), ('zoster'), (NULL)) AS t(b)
"""
PUBLIC = {"public": ["age", "gender"]}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("uniform", {"sensitive": "disease", "record_id": "id", "retention": 0.4, **PUBLIC}),
    "two columns by a text": (
        "uniform",
        {
            "sensitive": ["score", "outcome"],
            "record_id": ["ward", "id"],
            "epsilon": 1.0,
            "public": ["gender"],
        },
    ),
    "fine grain": ("fine_grain", {"sensitive": "disease", "record_id": "id", "tolerance": 2, **PUBLIC}),
    "matrix": (
        "matrix",
        {"sensitive": "disease", "record_id": "ward", "matrix": "exchange", **PUBLIC},
    ),
    "numbers and dates": (
        "for_questions",
        {"sensitive": ["age", "outcome"], "record_id": "id", "epsilon": 1.0, "public": ["gender"],
         "questions": {"age": "mean", "outcome": "ranges"}, "rounding": "random", "clip": True,
         "bins": {"age": [18, 40, 80], "outcome": ["2026-01-01", "2026-01-04", "2026-01-06"]}},
    ),
    "block design": (
        "block_design",
        {"sensitive": ["age", "disease"], "record_id": "id", "epsilon": 1.0, "public": ["gender", "score"]},
    ),
}  # fmt: skip
CASES |= {
    "reconstruction private": (
        "reconstruction_private",
        {"sensitive": "disease", "record_id": "ward", "retention": 0.4, "epsilon": 0.3, "delta": 0.1,
         "public": ["gender"], "republish": True},
    ),
    "reconstruction private as in the paper": (
        "reconstruction_private",
        {"sensitive": "outcome", "record_id": "id", "retention": 0.4, "epsilon": 0.3, "delta": 0.1,
         "public": ["gender", "age"], "sampling": "paper", "republish": True},
    ),
    "shuffled": (
        "shuffled",
        {"sensitive": ["disease", "score"], "record_id": "id", "epsilon": 1.0, "delta": 1e-6, **PUBLIC},
    ),
}  # fmt: skip
PUBLISHED = {
    "priv.release": "* EXCLUDE created_at",
    "priv.attribute": "*",
    "priv.coefficient": "*",
    "priv.guarantee": "*",
    "priv.warning": "*",
    "priv.ledger": "* EXCLUDE (published_at, digest, source_version)",
}
"""What both engines must write the same."""


@pytest.fixture
def theirs(prepared: Callable[..., Connection]) -> Connection:
    """A publisher's database that has the table."""
    connection = prepared()
    connection.execute(PERSONS)
    connection.execute(EXCHANGE)
    return connection


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("name", CASES)
def test_a_frame_gives_the_release_that_duckdb_gives(
    name: str, publisher: Connection, theirs: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    method, arguments = CASES[name]
    publisher.execute(EXCHANGE)
    receipt = duckdb_priv.spark.publish(
        publisher, persons, method, source="persons", release="r", path=tmp_path / "r", **arguments
    )
    call = f"priv.publish_{method}('persons', 'r', {sql(arguments)})"
    (reported,) = theirs.sql(f"FROM {call}").to_arrow_table().to_pylist()
    assert {each: receipt[each] for each in reported if each != "seconds"} == {
        each: value for each, value in reported.items() if each != "seconds"
    }
    assert contents(publisher, "r") == contents(theirs, "r")
    for table, columns in PUBLISHED.items():
        assert contents(publisher, table, columns) == contents(theirs, table, columns), table
    # The folder answers wherever it is.
    moved = (tmp_path / "r").rename(tmp_path / "else where")
    attribute = arguments["sensitive"]
    attribute = attribute if isinstance(attribute, str) else attribute[0]
    ((value,),) = theirs.execute(
        "SELECT min(value) FROM priv.coefficient WHERE attribute = ?", [attribute]
    ).fetchall()
    weight = ", weight := scale" if method in ("reconstruction_private", "shuffled") else ""
    question = (
        f"SELECT gender, priv.reconstructed_count('r.{attribute}', noisy_{attribute}, {value!r}{weight})"
        " FROM r GROUP BY gender ORDER BY gender"
    )
    with contextlib.chdir(moved), duckdb.connect() as analyst:
        analyst.execute((moved / "setup.sql").read_text("utf-8"))
        assert contents(analyst, "r") == contents(theirs, "r")
        assert analyst.sql(question).fetchall() == theirs.sql(question).fetchall()


NAMES = {"age": "*", "gender": "`gen.der", "disease": "dis.ea`se", "ward": "wa.rd", "id": "i d"}
"""Names of columns that PySpark would read as SQL."""


def test_columns_may_have_any_names_and_tasks_get_the_keys_of_the_release_alone(
    publisher: Connection,
    theirs: Connection,
    persons: DataFrame,
    tmp_path: Path,
    secret: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = {
        "sensitive": NAMES["disease"],
        "record_id": NAMES["ward"],
        "retention": 0.4,
        "public": [NAMES["age"], NAMES["gender"]],
    }
    sent: list[bytes] = []
    dumps = cloudpickle.dumps

    def sending(value: Any, *more: Any, **options: Any) -> bytes:
        sent.append(dumps(value, *more, **options))
        return sent[-1]

    monkeypatch.setattr(cloudpickle, "dumps", sending)
    monkeypatch.setattr("pyspark.serializers.cloudpickle.dumps", sending)
    duckdb_priv.spark.publish(
        publisher, persons.withColumnsRenamed(NAMES), "uniform",
        source="persons", release="r", path=tmp_path / "r", **arguments,
    )  # fmt: skip
    for name, other in NAMES.items():
        theirs.execute(f'ALTER TABLE persons RENAME "{name}" TO "{other}"')
    theirs.sql(f"FROM priv.publish_uniform('persons', 'r', {sql(arguments)})").fetchall()
    assert contents(publisher, "r") == contents(theirs, "r")
    ((identity,),) = publisher.sql("SELECT key FROM priv.identity").fetchall()
    assert any(b"KeyedBits" in each for each in sent)
    for payload in sent:
        for key in (secret, identity):
            assert key not in payload
            assert key.hex().encode() not in payload
    assert all(pickle.loads(each) for each in sent)


def test_the_files_do_not_depend_on_the_order_or_the_parts_of_the_source(
    prepared: Callable[..., Connection],
    persons: DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor on tasks that fail, and are tried again; nor on the process that writes them."""
    run, failed = tasks.Perturb.__call__, tmp_path / "failed"
    monkeypatch.setattr(writing, "ROWS_OF_GROUP", 1000)

    def failing(self: tasks.Perturb, batches: Any) -> Any:
        rows = list(run(self, batches))
        if len(rows) and not failed.exists():
            failed.touch()
            yield rows[0]
            raise RuntimeError("lost")
        yield from rows

    def in_tasks(records: DataFrame, work: tasks.Perturb, schema: Any) -> DataFrame:
        return tasks.in_tasks(records, lambda batches: failing(work, batches), schema)

    found = []
    shuffled = persons.repartition(5, "disease").orderBy(f.hash("id")).coalesce(3)
    for name, frame in (("as it is", persons), ("shuffled", shuffled)):
        with prepared() as publisher:
            arguments = {"sensitive": "disease", "record_id": "id", "retention": 0.4}
            duckdb_priv.spark.publish(
                publisher, frame, "uniform", source="persons", release="r", path=tmp_path / name,
                exclude=["ward"], public=["age", "gender", "score"], **arguments
            )  # fmt: skip
        found.append(files(tmp_path / name))
        monkeypatch.setattr(writing, "in_tasks", in_tasks)
    assert failed.exists()
    assert found[0] == found[1]
    assert list(found[0]) == ["part-00000.parquet"]
    written = found[0]["part-00000.parquet"]
    file = tmp_path / "written elsewhere"
    for order in permutations([4, 6, 8]):
        # Spark lists the encodings of a column in an order of the process, behind how many there are.
        elsewhere = written.replace(b"\x35\x04\x06\x08", b"\x35" + bytes(order))
        assert (elsewhere == written) == (order == (4, 6, 8))
        file.write_bytes(elsewhere)
        sort_encodings(file)
        assert file.read_bytes() == written
    assert pq.read_metadata(file).num_row_groups == 3


def test_what_ends_before_it_is_seen_leaves_its_entry_in_the_ledger_alone(
    publisher: Connection, persons: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, arguments = CASES["uniform"]
    left = tmp_path / f".r.{2**22}-{placing.MACHINE}{'0' * 24}.partial"
    left.mkdir()

    def publish() -> None:
        duckdb_priv.spark.publish(
            publisher,
            persons,
            method,
            source="persons",
            release="r",
            path=tmp_path / "r",
            **arguments,
        )

    def stopped(part: Path, place: Path) -> None:
        assert contents(duckdb_connection, "priv.ledger", "count(*)") == ["(1,)"]
        raise KeyboardInterrupt

    with publisher.cursor() as duckdb_connection:
        monkeypatch.setattr(placing, "move_new_folder", stopped)
        with pytest.raises(KeyboardInterrupt):
            publish()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    publish()
    assert publisher.sql("SELECT adds FROM priv.ledger ORDER BY number").fetchall() == [
        (True,),
        (False,),
    ]
    assert publisher.sql("SELECT count(*) FROM r").fetchall() == [(3000,)]


def test_other_versions_in_a_task_are_refused() -> None:
    tasks.Setting("UTC").check()
    with pytest.raises(PublicationFailed, match="and the driver has 0"):
        tasks.Setting("UTC", duckdb="0.9").check()


@pytest.mark.usefixtures("whole")
def test_one_file_is_assembled_by_duckdb(
    publisher: Connection, theirs: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    method, arguments = CASES["uniform"]
    path = tmp_path / "r.duckdb"
    duckdb_priv.spark.publish(
        publisher, persons, method, source="persons", release="r", path=path, **arguments
    )
    theirs.sql(f"FROM priv.publish_{method}('persons', 'r', {sql(arguments)})").fetchall()
    with duckdb_priv.open_release(path) as analyst:
        assert analyst.sql("FROM r").fetchall() == theirs.sql("FROM r").fetchall()
        described = (
            "SELECT column_name, data_type, comment FROM duckdb_columns()"
            " WHERE table_name = 'r' AND schema_name = 'main'"
        )
        assert analyst.sql(described).fetchall() == theirs.sql(described).fetchall()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.duckdb", "r.html"]


@pytest.mark.parametrize("kept", [1_000_000, 100])
def test_what_is_published_again_by_the_other_engine_adds_nothing(
    theirs: Connection,
    persons: DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
) -> None:
    """Also where a table is so large that a digest of its records is kept, and a sample."""
    monkeypatch.setattr(marking, "level_of", lambda rows, size=0: 2)
    monkeypatch.setattr(marking, "KEPT", kept)
    monkeypatch.setattr(examination, "SAMPLE", 1000)
    monkeypatch.setattr(examination, "CLASSES", 10)
    method, arguments = CASES["uniform"]
    theirs.sql(f"FROM priv.publish_{method}('persons', 'first', {sql(arguments)})").fetchall()
    duckdb_priv.spark.publish(
        theirs, persons, method, source="persons", release="again", path=tmp_path / "r", **arguments
    )
    assert theirs.sql("SELECT adds, level FROM priv.ledger ORDER BY number").fetchall() == [
        (True, 2),
        (False, 2),
    ]
    assert contents(theirs, "first") == contents(theirs, "again")
    assert all(
        holds is not False
        for (holds,) in theirs.sql("SELECT holds FROM priv.audit('again')").fetchall()
    )
    theirs.sql("FROM priv.drop_release('again')").fetchall()
    assert theirs.sql("SELECT release FROM priv.release").fetchall() == [("first",)]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no record id": ({"record_id": []}, "record_id is missing"),
    "a baseline": ({"method": "anatomy", "l": 2, "retention": None}, "is a baseline"),
    "a path that exists": ({"path": "taken"}, "taken' exists"),
    "a folder that is missing": ({"path": "no/where"}, "does not exist"),
    "an unknown argument": ({"retantion": 0.3}, "has no argument 'retantion'"),
    "an unknown method": ({"method": "unifrom"}, "no method is called 'unifrom'"),
    "an unknown column": ({"sensitive": "diseas"}, "has no column 'diseas'"),
    "an id that is missing": ({"record_id": "gender", "public": ["age"]}, "is NULL in"),
    "an id that is not unique": ({"record_id": "age", "public": []}, "is not unique"),
    "a value outside of the domain": ({"domain": ["flu", "cold"]}, "that the given domain lacks"),
    "a type that the frame does not hold": ({"types": {"gender": "UTINYINT"}}, "its type in the frame is string"),
    "a type that differs": ({"types": {"age": "HUGEINT"}}, "write differently"),
    "an unknown type": ({"types": {"age": "NUMBER!"}}, "which DuckDB does not know"),
    "the name of a table": ({"release": "exchange"}, "is a table that is no release"),
}  # fmt: skip


@pytest.fixture(scope="module")
def refusing(plain: None, prepared: Callable[..., Connection]) -> Iterator[Connection]:
    """A publisher's database in which nothing is published."""
    with prepared() as connection:
        connection.execute(EXCHANGE)
        yield connection


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_reported_and_nothing_is_left(
    name: str, refusing: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    changed, words = WRONG[name]
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "theirs").touch()
    given = {**CASES["uniform"][1], "method": "uniform", "path": "r", "release": "r", **changed}
    given = {each: value for each, value in given.items() if value is not None}
    method, path = given.pop("method"), tmp_path / given.pop("path")
    with pytest.raises(PrivError) as error:
        duckdb_priv.spark.publish(refusing, persons, method, source="persons", path=path, **given)
    assert words in str(error.value)
    assert error.value.hint
    assert "\n" not in error.value.message
    for table in ("priv.release", "priv.ledger", "priv.mark", "priv.grouped_mark", "priv.seen"):
        assert contents(refusing, table) == []
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]


FRAMES: dict[str, tuple[Callable[[DataFrame], Any], str]] = {
    "no frame": (lambda frame: frame.limit(3).toPandas(), "not a Spark data frame"),
    "ids that depend on the parts": (
        lambda frame: frame.withColumn("id", f.monotonically_increasing_id()),
        "monotonically_increasing_id",
    ),
    "an interval": (lambda frame: frame.withColumn("age", f.expr("INTERVAL '1' DAY")), "interval day"),
    "a map": (lambda frame: frame.withColumn("age", f.create_map(f.lit(1), f.lit(2))), "map<int,int>"),
    "a collation": (lambda frame: frame.withColumn("gender", f.collate("gender", "UTF8_LCASE")), "collate"),
    "two columns of one name": (lambda frame: frame.select("*", f.lit(1).alias("AGE")), "two columns of one name"),
    "no rows": (lambda frame: frame.where("id < 0"), "has no rows"),
    "no name": (lambda frame: frame.withColumnRenamed("ward", ""), "a column without a name"),
    "a reserved name": (lambda frame: frame.withColumn("_priv_x", f.lit(1)), "begins with _priv_"),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
def test_frames_that_cannot_be_published(
    name: str, refusing: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    change, words = FRAMES[name]
    arguments = CASES["uniform"][1]
    if name in ("a reserved name", "two columns of one name"):
        arguments = {**arguments, "exclude": ["ward"]}
        arguments.pop("public")
    with pytest.raises(PrivError) as error:
        duckdb_priv.spark.publish(
            refusing, change(persons), "uniform", source="persons", release="r", path=tmp_path / "r",
            **arguments,
        )  # fmt: skip
    assert words in str(error.value)
    assert contents(refusing, "priv.ledger") == []
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_fails_for_good_leaves_nothing_and_quotes_no_value(
    refusing: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    """A value that does not fit the type that was given for its column."""
    wide = persons.withColumn("age", f.col("age") + 1000)
    method, arguments = CASES["uniform"]
    with pytest.raises(PublicationFailed) as error:
        duckdb_priv.spark.publish(
            refusing, wide, method, source="persons", release="r", path=tmp_path / "r",
            types={"age": "UTINYINT"}, **arguments,
        )  # fmt: skip
    assert "10" not in str(error.value)
    assert contents(refusing, "priv.ledger") == []
    assert list(tmp_path.iterdir()) == []


def test_the_program_of_the_docs_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(Path(__file__).parents[3] / "docs" / "spark.py"))
    assert "20000 rows: " in capsys.readouterr().out
    assert sorted(each.name for each in tmp_path.iterdir()) == ["hospital.duckdb", "visits_public"]

"""Frames whose rows are others when they are read again, and files that the driver does not see, are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession, Window, WindowSpec
from pyspark.sql import functions as f
from spark.tables import contents, sql

import duckdb_priv.spark
from duckdb_priv.errors import InvalidParameter, InvalidSource, PublicationFailed
from duckdb_priv.publisher import placing
from duckdb_priv.spark import publication, writing
from duckdb_priv.spark.files import Transfer
from duckdb_priv.spark.plans import refuse_unstable
from duckdb_priv.spark.settings import configured

pytestmark = pytest.mark.usefixtures("plain")

Connection = duckdb.DuckDBPyConnection


def ties() -> WindowSpec:
    return Window.partitionBy("gender").orderBy("age")


DRAWN = {
    "monotonically_increasing_id()": "monotonically_increasing_id()",
    "rand()": "rand()",
    "randn()": "randn()",
    "uuid()": "uuid()",
    "randstr(8)": "randstr()",
    "spark_partition_id()": "spark_partition_id()",
    "input_file_name()": "input_file_name()",
    "shuffle(array(1, 2))[0]": "shuffle()",
    "uniform(0, 9)": "uniform()",
    "id + (SELECT rand())": "rand()",
}
"""By expression, what it is called."""
MADE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "row_number()": lambda frame: frame.withColumn("n", f.row_number().over(ties())),
    "lag()": lambda frame: frame.withColumn("n", f.lag("id").over(ties())),
    "first()": lambda frame: frame.groupBy("age").agg(f.first("id").alias("n")),
    "collect_list()": lambda frame: frame.groupBy("age").agg(f.collect_list("id").alias("n")),
    "limit": lambda frame: frame.limit(10),
    "sample": lambda frame: frame.sample(0.5, seed=1),
    "dropDuplicates": lambda frame: frame.dropDuplicates(["age"]),
    "zipWithIndex": lambda frame: frame.zipWithIndex(),
    "mode()": lambda frame: frame.groupBy("age").agg(f.mode("id").alias("n")),
    "a window of rows": lambda frame: frame.withColumn(
        "n", f.count("*").over(ties().rowsBetween(Window.unboundedPreceding, 0))
    ),
    "the _metadata of files": lambda frame: frame.withColumn("n", f.col("_metadata.row_index")),
    "max_by()": lambda frame: frame.where("id > (SELECT max_by(id, age) FROM wide)"),
    "mapInArrow": lambda frame: frame.mapInArrow(lambda batches: batches, frame.schema),
    "an RDD": lambda frame: frame.rdd.zipWithIndex().map(lambda pair: (pair[1],)).toDF(["n"]),
}
"""By what is refused, how frames are made whose rows may depend on an order."""


@pytest.fixture(scope="module")
def wide(persons: DataFrame) -> DataFrame:
    """Sixty more columns than an explanation shows."""
    return persons.select("*", *(f.lit(n).alias(f"c{n}") for n in range(60)))


@pytest.mark.parametrize("place", ["a column", "a view", "a filter", "a join"])
@pytest.mark.parametrize("expression", DRAWN)
def test_wide_frames_with_values_of_no_row_are_refused(
    wide: DataFrame, spark: SparkSession, expression: str, place: str
) -> None:
    """40 of them, behind whatever the value is."""
    frame = wide.withColumn("n", f.expr(expression))
    if place == "a view":
        frame.createOrReplaceTempView("drawn")
        frame = spark.table("drawn").select("*", f.lit(1).alias("more"))
    elif place == "a filter":
        frame = frame.where("age > 30 AND n IS NOT NULL").drop("n")
    elif place == "a join":
        frame = wide.select("id").join(frame.drop("age"), "id").groupBy("c1", "n").count()
    with pytest.raises(InvalidSource) as refused:
        refuse_unstable(frame, checked=True)
    assert f"uses {DRAWN[expression]}, whose values change" in str(refused.value)


@pytest.mark.parametrize("name", MADE)
def test_frames_that_an_order_may_decide_are_refused_until_they_are_checked(
    wide: DataFrame, name: str
) -> None:
    wide.createOrReplaceTempView("wide")
    frame = MADE[name](wide)
    with pytest.raises(InvalidSource) as refused:
        refuse_unstable(frame, checked=False)
    assert f"the frame uses {name}" in str(refused.value)
    assert "checked=True" in str(refused.value)
    refuse_unstable(frame, checked=True)


def test_frames_of_rows_alone_are_not_refused(wide: DataFrame, spark: SparkSession) -> None:
    counted = wide.groupBy("age").agg(f.max("id").alias("id"), f.count("id").alias("n"))
    ranked = wide.select("*", f.rank().over(ties()), f.max("id").over(Window.partitionBy("age")))
    for frame in (
        wide, wide.where("age > 30").distinct(), counted.join(wide, "id"), ranked, wide.cache()
    ):  # fmt: skip
        refuse_unstable(frame, checked=False)
    wide.unpersist()
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidSource, match="the frame is a stream"):
        refuse_unstable(stream, checked=True)


def published(publisher: Connection, frame: DataFrame, path: Path, **more: Any) -> Any:
    arguments = {"sensitive": "disease", "record_id": "id", "retention": 0.4} | more
    return duckdb_priv.spark.publish(
        publisher, frame, "uniform", source="persons", release="r", path=path, **arguments
    )


def test_no_row_is_lost_without_a_word(
    publisher: Connection, persons: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a folder is shared with some executors: the driver sees files, and not all of them."""
    write = DataFrameWriter.parquet

    def partly(self: DataFrameWriter, path: str, *more: Any) -> None:
        write(self, path, *more)
        first, *_ = sorted(Path(path.removeprefix("file://")).glob("*.parquet"))
        first.unlink()

    monkeypatch.setattr(writing, "ROWS_OF_FILE", 1000)
    monkeypatch.setattr(DataFrameWriter, "parquet", partly)
    with pytest.raises(PublicationFailed, match=r"the driver sees [12],\d{3} of the 3,000 rows"):
        published(publisher, persons, tmp_path / "r", public=["age", "gender"])
    assert list(tmp_path.iterdir()) == []
    assert publisher.sql("SELECT count(*) FROM priv.ledger").fetchall() == [(0,)]


@pytest.mark.parametrize("more", [{}, {"person": "age", "max_rows": 70}], ids=["all", "some"])
def test_rows_that_change_are_refused_before_any_is_published(
    publisher: Connection, persons: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    more: dict[str, Any],
) -> None:  # fmt: skip
    """Also if some of them are left out, so that the marks are not those of all rows."""

    def never(*_: Any) -> None:
        raise AssertionError("rows were published")

    monkeypatch.setattr(publication, "write_rows", never)
    drawn = f.udf(lambda: int.from_bytes(os.urandom(2)), "int")()
    with pytest.raises(PublicationFailed, match="differ between two readings"):
        published(
            publisher, persons.withColumn("score", drawn), tmp_path / "r", public=["score"], **more
        )
    assert list(tmp_path.iterdir()) == []
    assert contents(publisher, "priv.ledger") == []


def test_work_of_others_on_a_path_stays(
    publisher: Connection, persons: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what is in progress elsewhere is removed, nor what another driver has finished meanwhile replaced."""
    number = f"{(int(placing.MACHINE, 16) + 1) % 2**32:08x}"
    theirs = tmp_path / f".r.{2**22}-{number}{'0' * 24}.partial"
    theirs.mkdir()

    move = placing.move_new_folder

    def finished(part: Path, place: Path) -> None:
        place.mkdir()
        (place / "setup.sql").touch()
        move(part, place)

    monkeypatch.setattr(placing, "move_new_folder", finished)
    with pytest.raises(InvalidParameter, match="r' exists: it was made meanwhile"):
        published(publisher, persons, tmp_path / "r", public=["age"])
    assert sorted(each.name for each in tmp_path.rglob("*")) == [theirs.name, "r", "setup.sql"]


def test_an_executor_that_does_not_see_a_file_does_not_take_it_for_empty(
    spark: SparkSession, persons: DataFrame, tmp_path: Path
) -> None:
    """Even if the session ignores files that are missing."""
    folder = tmp_path / "rows"
    persons.coalesce(1).write.parquet(str(folder))
    frame = Transfer(spark, tmp_path).read(folder)
    for file in folder.glob("*.parquet"):
        file.unlink()
    with (
        configured(spark, {"spark.sql.files.ignoreMissingFiles": "true"}),
        pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST"),
    ):
        frame.count()


def test_a_stopped_session_is_one_sentence(
    publisher: Connection, spark: SparkSession, persons: DataFrame, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    with pytest.raises(PublicationFailed, match="the Spark session of the frame was stopped"):
        published(publisher, persons, tmp_path / "r", public=["age"])


def test_old_dates_and_zeros_inside_are_written_as_duckdb_writes_them(
    spark: SparkSession, prepared: Callable[..., Connection], tmp_path: Path
) -> None:
    """Dates before 1582 also where the session writes the calendar of old files; 0.0 and -0.0 in structs and lists."""
    arguments = {
        "sensitive": "born", "record_id": "id", "retention": 0.5, "public": ["at", "pair", "list"],
    }  # fmt: skip
    legacy = {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    }
    with prepared() as theirs, prepared() as publisher:
        theirs.execute("""
            CREATE TABLE old AS SELECT i AS id, DATE '1066-10-14' + (i % 5)::INTEGER AS born,
                TIMESTAMP '1492-10-12 02:00:00' + INTERVAL (i % 2) DAY AS at,
                {'a': (['0', '-0', '1.5'])[1 + i % 3]::DOUBLE, 'b': 'x'} AS pair,
                [(['-0', '0'])[1 + i % 2]::FLOAT, NULL] AS list FROM range(600) AS t(i)
        """)
        theirs.execute(f"COPY old TO '{tmp_path}/old.parquet'")
        theirs.sql(f"FROM priv.publish_uniform('old', 'r', {sql(arguments)})").fetchall()
        for name, value in legacy.items():
            spark.conf.set(name, value)
        try:
            duckdb_priv.spark.publish(
                publisher, spark.read.parquet(f"{tmp_path}/old.parquet"), "uniform",
                source="old", release="r", path=tmp_path / "r", **arguments,
            )  # fmt: skip
            assert {name: spark.conf.get(name) for name in legacy} == legacy
        finally:
            for name in legacy:
                spark.conf.unset(name)
        assert contents(publisher, "r") == contents(theirs, "r")
        signs = "SELECT count(*) FROM r WHERE signbit(pair.a) OR signbit(list[1])"
        assert publisher.sql(signs).fetchall() == theirs.sql(signs).fetchall() == [(0,)]


def test_what_a_record_lacks_is_reported_for_spark(
    publisher: Connection, persons: DataFrame, tmp_path: Path
) -> None:
    missing = persons.withColumn("id", f.when(f.col("id") > 4, f.col("id")))
    with pytest.raises(InvalidSource, match="is NULL in 5 of 3000 rows") as refused:
        published(publisher, missing, tmp_path / "r")
    assert "dropna" in str(refused.value)
    nans = persons.withColumn("score", f.when(f.col("id") < 3, f.lit(float("nan"))).otherwise(1.5))
    with pytest.raises(InvalidSource, match="'score' is nan in 3 of 3000 rows"):
        published(publisher, nans, tmp_path / "r", sensitive="score")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Cannot call methods on a stopped SparkContext.", "was stopped"),
        ("java.io.IOException: Mkdirs failed to create file:/x", "cannot read or write the folder"),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered", "cannot read or write the folder"),
        ("anything else, with 'a value'", "whose text may quote a value"),
    ],
)
def test_what_ends_a_job_is_one_sentence(text: str, says: str) -> None:
    assert says in str(publication._explained(RuntimeError(text)))

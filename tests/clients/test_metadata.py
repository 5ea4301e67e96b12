"""What is written beside an export for programs is what the formats ask for: each is read by its own validator."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from answers import named_row

from clients.installation import PROGRAMS, SHAPES, Missing, packages, with_packages

pytestmark = pytest.mark.once

FORMATS = ("croissant", "dcat", "datapackage")
PRIVATE = "Zxqv"
TABLES = f"""
    CREATE TABLE "my visits" AS
    SELECT id, '{PRIVATE}' || id AS name, 20 + id * 37 % 60 AS "age in years", if(id % 2 = 0, 'f', 'm') AS gender,
        ['asthma', 'cold', NULL, 'fl"u'][1 + (id * id) % 23 % 4] AS "dis/ease",
        DATE '2020-01-01' + (id % 5)::INTEGER AS day
    FROM range(2000) AS t(id);
    COMMENT ON COLUMN "my visits".gender IS 'As registered';
    CREATE TABLE code_book AS FROM (VALUES
        ('gender', 'f', 'female'), ('dis/ease', 'cold', 'a "cold"'), ('dis/ease', NULL, 'not examined')
    ) AS t(attribute, value, label);
"""
STATED: dict[str, Any] = {
    "title": 'Visits "2020"',
    "description": "One row a visit",
    "contact": "statistics@example.org",
    "licence": "https://creativecommons.org/licenses/by/4.0/",
    "labels": "code_book",
}


def export(
    con: duckdb.DuckDBPyConnection, release: str, place: Path, form: str, *wanted: str
) -> dict[str, Any]:
    call = "FROM priv.export_release(?, ?, format := ?, metadata := ?)"
    return named_row(con, call, release, str(place), form, list(wanted or FORMATS))


@pytest.fixture(scope="module")
def exported(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    published: Callable[..., dict[str, Any]],
    without_cards: Callable[[], Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """A release that its publisher says all about, and one of which nothing is said; a file and a folder."""
    folder = tmp_path_factory.mktemp("metadata")
    given = {"sensitive": "dis/ease", "retention": 0.3, "record_id": "id", "exclude": "name"}
    with prepared() as con, without_cards():
        con.execute(TABLES)
        published(con, "my visits", "visits públicos", **given, **STATED)
        published(con, "my visits", "bare", **given)
        found = {}
        for release, name, form in (
            ("visits públicos", "visits 1.duckdb", "duckdb"),
            ("bare", "folder", "parquet"),
        ):
            row = export(con, release, folder / name, form)
            assert [Path(each).name for each in row["metadata"]] == [
                f"{Path(name).stem}.{each}.json" for each in FORMATS
            ]
            found |= {Path(each).name: Path(each) for each in row["metadata"]}
    return found


def verdicts(*places: Path) -> dict[str, str]:
    try:
        environ, shapes = with_packages(), packages() / SHAPES
    except Missing as reason:
        pytest.skip(str(reason))
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "validate.py"), str(shapes), *map(str, places)],
        capture_output=True, text=True, timeout=600, check=False, env=environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


WRONG: dict[str, list[Callable[[Any], Any]]] = {
    "croissant": [
        lambda it: it["distribution"][0].pop("contentUrl"),
        lambda it: it["distribution"][0].pop("sha256"),
        lambda it: it["recordSet"][0]["field"][0]["source"].update(fileObject={"@id": "nothing"}),
    ],
    "dcat": [
        lambda it: it.pop("dct:title"),
        lambda it: it["dcat:distribution"][0].pop("dcat:accessURL"),
        lambda it: it["dcat:distribution"][0]["spdx:checksum"].pop("spdx:algorithm"),
    ],
    "datapackage": [
        lambda it: it["resources"][0].pop("path"),
        lambda it: it["resources"][0]["schema"]["fields"][0].pop("name"),
        lambda it: it["resources"][0].update(hash="sha256:" + "0" * 64),
    ],
}


def test_each_document_is_valid_and_its_validator_notices_what_is_wrong(exported, tmp_path):
    folder = exported["folder.dcat.json"].parent
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    wrong = []
    for form, changes in WRONG.items():
        document = json.loads(exported[f"visits 1.{form}.json"].read_text("utf-8"))
        for number, change in enumerate(changes):
            changed = copy.deepcopy(document)
            change(changed)
            wrong.append(tmp_path / f"{number}.{form}.json")
            wrong[-1].write_text(json.dumps(changed), "utf-8")
    found = verdicts(*exported.values(), *wrong)
    right = {name: messages for name, messages in found.items() if Path(name) in exported.values()}
    licence = 'Property "https://schema.org/license" is recommended'
    assert all(
        not line.strip() or (licence in line and "folder" in name)
        for name, messages in right.items()
        for line in messages.splitlines()
    ), right
    assert [
        Path(name).name for name, messages in found.items() if Path(name) in wrong and not messages
    ] == []
    assert len(found) == 6 + 9


def test_documents_say_what_the_catalog_says_and_nothing_of_a_record(exported):
    croissant, dcat, package = (
        json.loads(exported[f"visits 1.{form}.json"].read_text("utf-8")) for form in FORMATS
    )
    file = exported["visits 1.dcat.json"].with_name("visits 1.duckdb")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert croissant["distribution"][0]["sha256"] == digest
    assert dcat["dcat:distribution"][0]["spdx:checksum"]["spdx:checksumValue"]["@value"] == digest
    assert package["resources"][0]["hash"] == f"sha256:{digest}"
    assert package["resources"][0]["bytes"] == file.stat().st_size
    with duckdb.connect(str(file), read_only=True) as reader:
        columns = [row[0] for row in reader.execute('DESCRIBE "visits públicos"').fetchall()]
        stated = [
            row[0] for row in reader.execute("SELECT statement FROM priv.guarantee").fetchall()
        ]
    fields = {each["name"]: each for each in package["resources"][0]["schema"]["fields"]}
    assert sorted(fields) == sorted(columns)
    assert {name: each["type"] for name, each in fields.items()} == {
        "age in years": "integer", "gender": "string", "day": "date", "noisy_dis/ease": "string"
    }  # fmt: skip
    assert fields["noisy_dis/ease"]["constraints"] == {"enum": ["asthma", "cold", 'fl"u']}
    assert fields["gender"]["categories"] == [{"value": "f", "label": "female"}]
    assert package["privacy"]["guarantees"] == stated
    assert package["privacy"]["population"] == "main"
    assert package["title"] == croissant["alternateName"] == dcat["dct:title"] == STATED["title"]
    assert package["contributors"][0]["email"] == croissant["creator"]["email"] == STATED["contact"]
    assert croissant["license"] == package["licenses"][0]["path"] == STATED["licence"]
    assert {each["label"] for record_set in croissant["recordSet"][1:] for data in record_set["data"]
            for each in [{"label": label} for key, label in data.items() if key.endswith("/label")]} == {
        "female", 'a "cold"', "not examined"
    }  # fmt: skip
    for place in exported.values():
        assert PRIVATE not in place.read_text("utf-8")
        assert str(place.parent) not in place.read_text("utf-8")


def test_what_is_beside_is_replaced_only_where_it_is_ours(con, published, without_cards, tmp_path):
    con.execute(TABLES)
    given = {"sensitive": "dis/ease", "retention": 0.3, "record_id": "id", "exclude": "name"}
    published(con, "my visits", "r", **given)
    published(con, "my visits", "s", **given)
    other = tmp_path / "r.datapackage.json"
    with without_cards():
        export(con, "r", tmp_path / "r.duckdb", "duckdb", "datapackage")
        before = json.loads(other.read_text("utf-8"))
        export(con, "r", tmp_path / "r.duckdb", "duckdb", "datapackage")
        assert json.loads(other.read_text("utf-8"))["name"] == before["name"]
        other.write_text('{"name": "r"}', "utf-8")
        with pytest.raises(duckdb.Error, match="does not describe 'r'"):
            export(con, "r", tmp_path / "r.duckdb", "duckdb", "datapackage")
        assert other.read_text("utf-8") == '{"name": "r"}'
        export(con, "s", tmp_path / "s.duckdb", "duckdb", "croissant")
        shutil.copy(tmp_path / "s.croissant.json", tmp_path / "r.croissant.json")
        with pytest.raises(duckdb.Error, match="does not describe 'r'"):
            export(con, "r", tmp_path / "r.duckdb", "duckdb", "croissant")
        with pytest.raises(
            duckdb.Error, match="metadata must be a list of 'croissant', 'dcat' and"
        ):
            export(con, "r", tmp_path / "r.duckdb", "duckdb", "dcatt")
    assert not list(tmp_path.glob(".*"))

"""The explorer: what the page shows in a browser is what DuckDB answers, and nothing leaves it."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from clients.exploring import Shown, Tab, engine, served
from clients.installation import Missing
from clients.releases import Connect, publish_all
from duckdb_priv.explorer import parts
from duckdb_priv.explorer.server import Explorer
from duckdb_priv.shell.cli import main

STAYS = """
    CREATE TABLE stays AS
    SELECT i AS id, (hash('age' || i) % 90)::INTEGER AS age,
        ['north', 'south', 'l''hôpital "A"', NULL][1 + (hash('ward' || i) % 4)::INTEGER] AS ward,
        DATE '2024-01-01' + (hash('day' || i) % 24)::INTEGER * 30 AS admitted,
        ['none', 'flu', 'it''s', NULL][1 + (hash('disease' || i) % 10 // 3)::INTEGER] AS disease,
        (hash('drug' || i) % 3)::INTEGER AS drug
    FROM range(4000) AS t(i)
"""
UNIFORM = """
    FROM priv.publish_uniform('stays', 'visits', sensitive := ['disease', 'drug'], retention := 0.5,
                              record_id := 'id', title := 'Visits', contact := 'desk@hospital.example')
"""
LEVELS = """
    CREATE TABLE levels AS
    SELECT attribute, value, level, if(level = 0, value, 'any') AS generalized
    FROM (SELECT unnest(['drug', 'drug', 'drug', 'part', 'part']) AS attribute,
                 unnest(['0', '1', '2', 'a', 'b']) AS value), (SELECT unnest([0, 1]) AS level)
"""
SAMPLE = """
    FROM priv.publish_safe_k('parts', 'sample', k := 10, beta := 0.3, epsilon := 1.0, hierarchies := 'levels',
                             levels := {'drug': 0, 'part': 0}, record_id := 'id')
"""

CODED = """
    CREATE TABLE codes AS
    SELECT id, 1 + id % 2 AS sex, (hash('value' || id) % 3)::INTEGER AS value, disease AS icd FROM stays;
    CREATE TABLE code_book AS FROM (VALUES
        ('sex', '1', 'male'), ('sex', '2', '<b>female'), ('icd', 'flu', 'influenza'), ('icd', NULL, 'not examined')
    ) AS t(attribute, value, label);
    FROM priv.publish_uniform('codes', 'coded', sensitive := 'icd', retention := 0.5, record_id := 'id',
                              labels := 'code_book')
"""


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory,
    prepared: Connect,
    for_files: Callable[..., AbstractContextManager[None]],
) -> Path:
    """Releases: one with two attributes perturbed, a sample, and one with codes."""
    place = tmp_path_factory.mktemp("explored")
    parts_of = "CREATE VIEW parts AS SELECT id, drug, if(age < 30, 'a', 'b') AS part FROM stays"
    for name, statements in {
        "visits": (STAYS, UNIFORM),
        "sample": (STAYS, parts_of, LEVELS, SAMPLE),
        "coded": (STAYS, CODED),
    }.items():
        with for_files(), prepared() as publisher:
            for statement in statements:
                publisher.execute(statement).fetchall()
            path = str(place / f"{name}.duckdb")
            publisher.execute("FROM priv.export_release(?, ?)", [name, path]).fetchall()
    return place


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    try:
        engine()
        tab = Tab()
    except Missing as reason:
        pytest.skip(str(reason))
    with tab:
        yield tab


@pytest.fixture(scope="module")
def visits(tab: Tab, folder: Path) -> Iterator[Explorer]:
    """The page, with the first release."""
    with served(folder / "visits.duckdb") as server:
        yield server


def expected(shown: Shown, path: Path) -> list[list[str]]:
    """What the table must say: the SQL beside it, asked in Python, and rounded as its error asks for."""
    with duckdb.connect(str(path), read_only=True) as reader:
        found = reader.execute(shown["sql"])
        names = [name for name, *_ in found.description]
        groups = len(names) - 4
        return [
            [
                *("(missing)" if each is None else str(each) for each in row[:groups]),
                *shown_numbers(dict(zip(names, row, strict=True)), percent="100 *" in shown["sql"]),
            ]
            for row in found.fetchall()
        ]  # fmt: skip


def shown_numbers(row: dict[str, float], percent: bool) -> list[str]:
    """What people see: the nearest possible numbers, records as whole ones, and ends rounded outwards."""
    possible = (
        (max(0, min(row["estimate"], row["high"])), ROUND_HALF_UP),
        (max(0, row["low"]), ROUND_FLOOR),
        (row["high"], ROUND_CEILING),
    )
    return [rounded(each, row["stderr"] if percent else None, way) for each, way in possible]


def rounded(number: float, stderr: float | None, way: str) -> str:
    digits = min(6, max(0, 1 - math.floor(math.log10(stderr)))) if stderr else 0
    exact = Decimal(number).quantize(Decimal(1).scaleb(-digits), way)
    return f"{exact:,}".replace("-0", "0") if exact == 0 else f"{exact:,}"


def test_each_value_at_first(tab: Tab, visits: Explorer, folder: Path) -> None:
    shown = tab.do("visit", address=visits.address())
    assert shown["title"] == "Visits"
    assert "4,000 rows" in shown["facts"]
    assert "desk@hospital.example" in shown["facts"]
    assert shown["rows"][0] == ["disease", "estimate", "low", "high"]
    assert shown["rows"][1:] == expected(shown, folder / "visits.duckdb")
    assert (len(shown["rows"]), shown["panels"], shown["problem"]) == (5, [""], "")


def test_a_value_by_groups_and_conditions(tab: Tab, visits: Explorer, folder: Path) -> None:
    """A trend of percentages, with names and values that need quotes."""
    tab.ask(visits, "of=disease")
    tab.do("choose", name="value", option="it's")
    tab.do("choose", name="show", option="percent")
    tab.do("choose", name="by", option="age")
    tab.do("choose", name="step", option="20")
    tab.do("choose", name="chart", option="a trend")
    tab.do("click", what="[data-column=ward] summary")
    for place in (0, 3):
        tab.do("click", what=f"[data-column=ward] [data-place='{place}']")
    tab.do("click", what="[data-column=admitted] summary")
    shown = tab.do("write", what="[aria-label='admitted from']", text="2024-06-01")
    assert shown["rows"][1:] == expected(shown, folder / "visits.duckdb")
    assert [row[0] for row in shown["rows"][1:]] == ["0", "20", "40", "60", "80"]
    assert '"ward" IN (\'l\'\'hôpital "A"\') OR "ward" IS NULL' in shown["sql"]
    copied = tab.do("click", what="#copy-link")
    assert "a command that asks this question" in copied["copied"]
    command = tab.do("evaluate", text="navigator.clipboard.readText()")["value"]
    question = re.fullmatch(r'duckdb-priv explore visits\.duckdb --question "(.*)"', command)[1]
    assert tab.ask(visits, "of=drug")["rows"] != shown["rows"]
    again = tab.ask(visits, question)
    assert (again["sql"], again["rows"]) == (shown["sql"], shown["rows"])
    assert shown["address"].partition("#")[2] == question


@pytest.mark.parametrize(
    ("question", "panels"),
    [
        ("of=drug&by=ward&show=percent&confidence=0.99", 4),
        ("of=disease&by=admitted&step=year&and=ward", 8),
        ("of=disease&by=admitted&step=month&chart=trend", 4),
        ("of=disease&missing=1&from.age=30&to.age=50", 1),
        ("of=drug&chart=trend&in.ward=north", 1),
        ("of=drug&chart=cumulative&from.age=30", 1),
    ],
)
def test_questions_of_a_link(
    tab: Tab, visits: Explorer, folder: Path, question: str, panels: int
) -> None:
    shown = tab.ask(visits, question)
    assert shown["rows"][1:] == expected(shown, folder / "visits.duckdb")
    assert len(shown["panels"]) == panels
    assert shown["problem"] == ""


def test_a_single_number_is_reported(tab: Tab, visits: Explorer) -> None:
    shown = tab.ask(visits, "of=disease&value=flu")
    _, (estimate, low, high) = shown["rows"]
    assert shown["status"] == f"About {estimate} records: with 95% confidence {low} to {high}."


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ("of=salary", "The link asks for of = salary, which this release does not have."),
        ("of=drug&value=' OR 1", "The link asks for a value that drug does not have in this release."),
        ("by=id", "The link asks for by = id, which this release does not have."),
        ("by=age&step=1;DROP", "The link asks for step = 1;DROP, which this release does not have."),
        ("from.age=1 OR true", "The link selects age from 1 OR true, which is not a number."),
        ("in.age=30", "The link selects single values of age, but this page can only select a range of them."),
        ("in.disease=flu", "The link selects records by disease, which is not a public column of this release."),
    ],
)  # fmt: skip
def test_links_that_do_not_fit(tab: Tab, visits: Explorer, question: str, problem: str) -> None:
    shown = tab.ask(visits, question)
    assert shown["problem"] == problem
    assert shown["sql"].startswith("SELECT value,")


def test_a_long_question_can_be_stopped(tab: Tab, visits: Explorer, folder: Path) -> None:
    """What nobody waits for is given up, and the next question is answered."""
    before = tab.ask(visits, "of=drug")
    tab.do("evaluate", text="document.getElementById('stop').click()")
    stopped = tab.do("look")
    assert (stopped["rows"], stopped["status"][:8]) == ([], "Stopped.")
    shown = tab.ask(visits, "of=drug&confidence=0.9")
    assert shown["rows"][1:] == expected(shown, folder / "visits.duckdb") != before["rows"][1:]
    answered = tab.do(
        "evaluate",
        text="""(async () => {
        const { open } = await import('./release.js?apart');
        const release = await open(new File([await (await fetch('visits.duckdb')).blob()], 'v.duckdb'));
        release.ask('SELECT sum(a.range * b.range) FROM range(10000000) AS a, range(10000000) AS b');
        release.stop();
        return release.ask('SELECT 7 AS seven');
    })()""",
    )["value"]
    assert answered == [{"seven": 7}]


@pytest.mark.parametrize("width", [390, 1280])
def test_keyboard_and_screen_reader(tab: Tab, visits: Explorer, width: int) -> None:
    tab.do("size", width=width)
    shown = tab.ask(visits, "of=disease&by=age&step=20&from.age=10")
    assert shown["wider"] <= 0
    assert tab.do("axe")["violations"] == []
    tab.do("evaluate", text="document.querySelector('summary').focus()")
    assert tab.do("press", keys=["Tab"])["focus"] == "of"
    shown = tab.do("press", keys=["ArrowDown"])
    assert (shown["focus"], shown["rows"][0][1]) == ("of", "drug")
    assert tab.do("press", keys=["Tab", "Tab", "ArrowDown"])["focus"] == "show"
    assert "100 *" in tab.do("look")["sql"]


def test_nothing_leaves_the_page(tab: Tab, visits: Explorer) -> None:
    """All that is asked for is the page's own, and neither page, engine nor release can ask elsewhere."""
    tab.ask(visits, "of=disease&by=ward")
    reported = tab.do("requests")
    own = f"http://{visits.host}/{visits.token}/"
    assert reported["said"] == []
    assert all(
        each.startswith((own, f"blob:http://{visits.host}/", "data:")) for each in reported["asked"]
    )
    blocked = tab.do("evaluate", text="fetch('http://127.0.0.1:9/').then(String, String)")["value"]
    assert blocked == "TypeError: Failed to fetch"
    refused = tab.do(
        "evaluate",
        text="""(async () => {
        const { open } = await import('./release.js');
        const release = await open(new File([await (await fetch('visits.duckdb')).blob()], 'v.duckdb'));
        const tries = ["FROM read_csv('http://127.0.0.1:9/a.csv')", "SET enable_external_access = true", "LOAD httpfs",
                       "ATTACH 'b.duckdb'", "DROP TABLE visits"];
        return Promise.all(tries.map((each) => release.ask(each).then(() => 'done', () => 'refused')));
    })()""",
    )["value"]
    assert refused == ["refused"] * 5
    assert any("Content Security Policy" in each for each in tab.do("requests")["said"])


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tab: Tab, folder: Path) -> Iterator[str]:
    """The address of the page in a folder of any web server, with the sample beside it."""
    place = folder / "site"
    parts.write(place)
    shutil.copy(folder / "sample.duckdb", place)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
    with pytest.raises(duckdb_priv.errors.InvalidParameter, match="exists"):
        parts.write(place)


def test_a_page_that_was_written_with_a_release_opens_it(
    tab: Tab, folder: Path, tmp_path: Path
) -> None:
    """No address names the file: readers install nothing, and choose nothing."""
    written = CliRunner().invoke(
        main, ["explore", str(folder / "visits.duckdb"), "--write", str(tmp_path / "site")]
    )
    assert (written.exit_code, written.stdout) == (0, f"{tmp_path / 'site'}\n")
    assert "not checked: who made it" in written.stderr
    handler = partial(Quiet, directory=str(tmp_path / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        for shown in (
            tab.do("visit", address=address, width=390), tab.do("size", width=1280)
        ):  # fmt: skip
            assert (shown["title"], shown["problem"], shown["wider"]) == ("Visits", "", 0)
            assert shown["rows"][1:] == expected(shown, folder / "visits.duckdb")
        server.shutdown()


def test_a_sample_beside_the_page(tab: Tab, site: str, folder: Path) -> None:
    """Percentages of a sample are asked value by value: how many records there are is an estimate itself."""
    shown = tab.do("visit", address=f"{site}?open=sample.duckdb#of=drug&show=percent")
    assert shown["rows"][1:] == expected(shown, folder / "sample.duckdb")
    assert "100 *" not in shown["sql"]
    shown = tab.do("hash", text="of=drug&value=1&show=percent&by=part")
    assert shown["rows"][1:] == expected(shown, folder / "sample.duckdb")
    assert "priv.reconstructed_share(" in shown["sql"]
    assert tab.do("visit", address=f"{site}?open=../visits.duckdb")["problem"] == (
        "There is no file “visits.duckdb” in the folder of this page."
    )


def test_codes_are_read_by_their_labels(tab: Tab, site: str, folder: Path) -> None:
    """A number with labels is a category; a column may have the name of one of the answer's."""
    question = "of=icd&by=sex&and=value&from.value=1&to.value=1"
    shown = tab.ask_file(site, folder / "coded.duckdb", question)
    assert shown["panels"] == ["sex: male (1), value: 1", "sex: <b>female (2), value: 1"]
    assert shown["rows"][0][:3] == ["sex", "value", "icd"]
    assert {row[2] for row in shown["rows"][1:]} == {
        "influenza (flu)", "not examined (missing)", "none", "it's",
    }  # fmt: skip
    right = expected(shown, folder / "coded.duckdb")
    assert [row[3:] for row in shown["rows"][1:]] == [row[3:] for row in right]
    assert tab.do("evaluate", text=OPTIONS)["value"] == [
        "each value", "influenza (flu)", "it's", "none", "not examined (missing)",
    ]  # fmt: skip
    shown = tab.do("hash", text="of=icd&missing=1&by=value&in.sex=2")
    assert shown["rows"][1:] == expected(shown, folder / "coded.duckdb")
    assert (shown["rows"][0][0], "\"sex\" IN ('2')" in shown["sql"]) == ("value", True)
    reported = tab.do("evaluate", text="document.getElementById('asked').textContent")["value"]
    assert reported == "How many records have icd = not examined, by value, where sex = <b>female"


OPTIONS = "[...document.querySelectorAll('[name=value] option')].map((each) => each.textContent)"


@pytest.fixture
def exported(
    tmp_path: Path, prepared: Connect, for_files: Callable[..., AbstractContextManager[None]]
) -> Callable[[str, str], Path]:
    """Export a release ``codes`` of the records that a query returns."""

    def export(records: str, publish: str) -> Path:
        path = tmp_path / "codes.duckdb"
        with for_files(), prepared() as publisher:
            publisher.execute(f"CREATE TABLE stays AS {records}")
            publisher.execute(publish)
            publisher.execute("FROM priv.export_release('codes', ?)", [str(path)])
        return path

    return export


def test_an_answer_that_is_too_large_to_draw_is_a_table(
    tab: Tab, site: str, exported: Callable[[str, str], Path]
) -> None:
    """50,000 rows, of which one value is an empty text and one a blank."""
    path = exported(
        "SELECT i AS id, i % 500 AS ward,"
        " if(i // 90 < 2, ['', ' '][1 + i // 90], 'code ' || i // 90) AS code FROM range(9000) AS t(i)",
        "FROM priv.publish_uniform('stays', 'codes', sensitive := 'code', retention := 0.9, record_id := 'id')",
    )
    shown = tab.ask_file(site, path, "of=code&by=ward")
    assert shown["problem"] == ""
    assert "488 more groups" in shown["undrawn"]
    assert "the SQL returns 49800 more" in shown["undrawn"]
    values = {row[1] for row in shown["rows"][1:]}
    assert {"''", "' '", "code 7"} <= values
    shown = tab.ask_file(site, path, "of=code")
    assert {"''", "' '"} <= {row[0] for row in shown["rows"][1:]}


def test_percentages_of_blocks_are_the_shares_of_each_value(
    tab: Tab, site: str, exported: Callable[[str, str], Path]
) -> None:
    """Estimates of all values of a group do not add up to its records here, so their sum divides none of them."""
    path = exported(
        "SELECT i AS id, nullif(i % 3, 2) AS ward, hash(i) % 12 AS code FROM range(3000) AS t(i)",
        "FROM priv.publish_block_design('stays', 'codes', sensitive := 'code', epsilon := 1.0, record_id := 'id')",
    )
    for rest in ("&by=ward", "&by=ward&from.ward=1", ""):
        each = tab.ask_file(site, path, f"of=code&show=percent{rest}")
        shares = {tuple(row[:-4] + row[-3:]): row[-4] for row in each["rows"][1:] if row[-4] == "3"}
        assert (each["problem"], each["rows"][1:]) == ("", expected(each, path))
        one = tab.ask_file(site, path, f"of=code&value=3&show=percent{rest}")
        assert {tuple(row): "3" for row in one["rows"][1:]} == shares


def test_a_file_is_chosen_or_dropped(tab: Tab, site: str, folder: Path) -> None:
    tab.at(site)
    assert tab.do("give", file=str(folder / "visits.duckdb"))["title"] == "Visits"
    data = base64.b64encode((folder / "sample.duckdb").read_bytes()).decode()
    shown = tab.do("drop", name="dropped.duckdb", bytes=data)
    assert shown["facts"].startswith("dropped.duckdb")
    assert shown["rows"][1:] == expected(shown, folder / "sample.duckdb")


def wrong_files(folder: Path, release: Path) -> dict[str, str]:
    """Files that are no release, each with the beginning of what is said of it."""
    whole = release.read_bytes()
    (folder / "table.csv").write_text("age,disease\n1,flu\n")
    (folder / "empty.duckdb").write_bytes(b"")
    (folder / "cut.duckdb").write_bytes(whole[: len(whole) // 2])
    (folder / "head.duckdb").write_bytes(whole[:5000])
    (folder / "torn.duckdb").write_bytes(whole[:12288] + bytes(len(whole) - 12288))
    with duckdb.connect(
        str(folder / "other.duckdb"), config={"storage_compatibility_version": "v1.0.0"}
    ) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS one")
    shutil.copy(release, folder / "older.duckdb")
    with duckdb.connect(str(folder / "older.duckdb")) as con:
        con.execute("ALTER TABLE priv.attribute DROP COLUMN column_name")
    shutil.copy(release, folder / "secret.duckdb")
    with duckdb.connect(str(folder / "secret.duckdb")) as con:
        con.execute("CREATE TABLE priv.secret (key BLOB)")
    return {
        "table.csv": "“table.csv” is not a DuckDB file",
        "empty.duckdb": "“empty.duckdb” is not a DuckDB file",
        "cut.duckdb": "“cut.duckdb” is incomplete",
        "head.duckdb": "“head.duckdb” is incomplete",
        "torn.duckdb": "“torn.duckdb” cannot be opened by DuckDB v",
        "other.duckdb": "“other.duckdb” is a DuckDB file, but not a release",
        "older.duckdb": "“older.duckdb” was written by an older duckdb_priv",
        "secret.duckdb": "“secret.duckdb” is a publisher's own database",
    }


def test_wrong_files_are_one_sentence(tab: Tab, site: str, folder: Path, tmp_path: Path) -> None:
    reported = wrong_files(tmp_path, folder / "visits.duckdb")
    tab.at(site)
    for name, stated in reported.items():
        shown = tab.do("give", file=str(tmp_path / name))
        assert shown["problem"].startswith(stated), name
        assert "\n" not in shown["problem"]
        assert (shown["rows"], shown["sql"]) == ([], "")
    assert tab.do("give", file=str(folder / "visits.duckdb"))["problem"] == ""


def ask(
    server: Explorer, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str]]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=600)
    connection.request(
        method, path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status, dict(reply.getheaders())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Explorer]:
    """A server of small files, without an engine."""
    release = tmp_path / "my visits.duckdb"
    release.write_bytes(b"release")
    (tmp_path / "secret.txt").write_text("not given out")
    page = {path.name: path for path in parts.PAGE.iterdir()}
    with Explorer(page, release) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_the_server_gives_out_what_it_was_given(server: Explorer) -> None:
    address = urlsplit(server.address("of=disease"))
    assert (address.hostname, address.query, address.fragment) == (
        "127.0.0.1",
        "open=my%20visits.duckdb",
        "of=disease",
    )
    status, headers = ask(server, f"{address.path}?{address.query}")
    assert (status, headers["Content-Type"], headers["Cache-Control"]) == (
        200,
        "text/html; charset=utf-8",
        "no-store",
    )
    assert ask(server, f"{address.path}my%20visits.duckdb")[0] == 200
    assert ask(server, f"{address.path}explorer.js", Sec_Fetch_Site="same-origin")[0] == 200


def test_the_server_gives_out_nothing_else(server: Explorer) -> None:
    own = urlsplit(server.address()).path
    for path in ("/", "/index.html", "/wrong/index.html"):
        assert ask(server, path)[0] == 404, path
    for path in (
        "secret.txt",
        "../secret.txt",
        "%2e%2e/secret.txt",
        "/etc/passwd",
        "engine",
        "engine/",
        "%00",
    ):
        assert ask(server, own + path)[0] == 404, path
    assert ask(server, own, Host="evil.example")[0] == 404
    assert ask(server, own, Host=f"localhost:{server.server_port}")[0] == 404
    assert ask(server, own, Sec_Fetch_Site="cross-site")[0] == 404
    assert ask(server, own, method="POST")[0] == 501
    assert ask(server, own, method="PUT")[0] == 501


@pytest.mark.parametrize("target", ["http://[::1", "http://[x]/"])
def test_a_malformed_request_is_answered_with_400(
    server: Explorer, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as sent:
        sent.sendall(f"GET {target} HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode())
        answer = sent.recv(100).decode()
    assert " 400 " in answer.splitlines()[0]
    assert capfd.readouterr().err == ""


def test_the_page_allows_its_own_script_and_no_other() -> None:
    page = (parts.PAGE / "index.html").read_text("utf-8")
    (inline,) = re.findall(r"<script type=\"importmap\">(.*?)</script>", page)
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the engine, and with what is no release."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    runner = CliRunner()
    missing = runner.invoke(main, ["explore", "--no-browser"])
    assert missing.exit_code == 1
    assert "the explorer's engine is not installed" in missing.output
    assert "duckdb-priv explore --install" in missing.output
    (tmp_path / "table.csv").write_text("age\n1\n")
    wrong = runner.invoke(main, ["explore", str(tmp_path / "table.csv")])
    assert wrong.exit_code == 1
    assert "is no whole file that DuckDB" in wrong.output
    monkeypatch.setenv("PATH", str(tmp_path))
    helpless = runner.invoke(main, ["explore", "--install"])
    assert helpless.exit_code == 1
    assert "npm is not on the PATH" in helpless.output


def test_a_release_that_is_called_like_the_page_is_not_written_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "parts", lambda: {path.name: path for path in parts.PAGE.iterdir()})
    (tmp_path / "index.html").write_text("")
    with pytest.raises(
        duckdb_priv.errors.InvalidParameter, match="is the name of a file of the page"
    ):
        parts.write(tmp_path / "site", tmp_path / "index.html")
    assert not (tmp_path / "site").exists()


def test_the_command_says_where_the_page_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Explorer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "parts", lambda: {path.name: path for path in parts.PAGE.iterdir()})
    monkeypatch.setattr(Explorer, "serve_forever", interrupt)
    arguments = ["explore", str(folder / "visits.duckdb"), "--no-browser", "--question", "of=drug"]
    stated = CliRunner().invoke(main, arguments)
    assert stated.exit_code == 0
    assert "release visits is verified" in stated.output
    assert re.search(
        r"^http://127\.0\.0\.1:\d+/[\w-]+/\?open=visits\.duckdb#of=drug$",
        stated.output,
        re.MULTILINE,
    )


@pytest.mark.on_demand
def test_every_mechanism(tab: Tab, tmp_path: Path) -> None:
    for name, release in publish_all(tmp_path, rows=3000).items():
        with served(release.path) as server:
            for question in (
                f"of={release.attribute}&by=ward",
                f"of={release.attribute}&value={release.value[1:-1]}&by=ward",
            ):
                shown = tab.do("visit", address=server.address(question))
                assert shown["problem"] == "", name
                assert shown["rows"][1:] == expected(shown, release.path), name

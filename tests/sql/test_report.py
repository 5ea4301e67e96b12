"""The release card: what it says, what it never says, and how it looks."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import duckdb_priv
from duckdb_priv.card.report import analyst_card, publisher_card, write
from duckdb_priv.errors import InvalidParameter, UnknownRelease
from duckdb_priv.shell.cli import main

pytestmark = pytest.mark.usefixtures("plain_files")

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
HOSTILE = """</svg><script>alert('x')</script>"&amp;"""
VOID = {"meta", "path", "circle"}


MECHANISMS = {
    "uniform": "rho1 := 0.1, rho2 := 0.4",
    "fine_grain": "tolerance := 4, min_retention := 0.1",
    "splu": "gamma := 3",
    "reconstruction_private": "retention := 0.5, epsilon := 0.3, delta := 0.3",
    "anatomy": "l := 3",
    "shuffled": "epsilon := 1.0, delta := 1e-6",
    "block_design": "epsilon := 0.5",
}


def _publish(connection: duckdb.DuckDBPyConnection, mechanism: str) -> None:
    connection.execute("""
        CREATE TABLE visits AS SELECT id, 20 + id * 7919 % 40 AS age, if(id % 2 = 0, 'f', 'm') AS gender,
            ['asthma', 'cold', 'flu', 'mumps', NULL][1 + id % 101 % 5] AS disease
        FROM range(8000) AS t(id)
    """)
    connection.execute(
        f"FROM priv.publish_{mechanism}('visits', '{mechanism}', sensitive := 'disease', record_id := 'id',"
        f" {MECHANISMS[mechanism]})"
    ).fetchall()


@pytest.fixture(scope="module")
def con(made: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with a release by uniform perturbation."""
    with made(_publish, "uniform") as connection:
        yield connection


CardOfFile = Callable[[duckdb.DuckDBPyConnection, str], str]


@pytest.fixture
def card_of_file(tmp_path: Path) -> CardOfFile:
    """Export a release, and make the card that someone who has the file can make."""

    def make(con: duckdb.DuckDBPyConnection, release: str) -> str:
        path = tmp_path / "release.duckdb"
        con.execute("FROM priv.export_release(?, ?)", [release, str(path)]).fetchall()
        with duckdb.connect(str(path), read_only=True) as reader:
            return analyst_card(reader)

    return make


class Page(HTMLParser):
    """Reads a page, and refuses what is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.statements: list[str] = []
        self.links: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] == "pre":
            self.statements.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_a_card_has_the_words_of_the_publisher_and_only_theirs_the_warnings(
    con: duckdb.DuckDBPyConnection, card_of_file: CardOfFile
) -> None:
    con.execute(
        "FROM priv.publish_uniform('visits', 'named', sensitive := 'disease', retention := 0.5,"
        " public := ['id', 'age'], title := $1, description := $1, contact := $1)",
        [HOSTILE],
    )
    ours, theirs = Page(publisher_card(con, "named")), Page(card_of_file(con, "named"))
    for page in (ours, theirs):
        assert page.text.count(HOSTILE) == 3
    assert "'id' differs in every row" in ours.text
    assert "'id' differs in every row" not in theirs.text
    con.execute("FROM priv.drop_release('named')").fetchall()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_card_says_what_a_release_is(
    made: Callable[..., duckdb.DuckDBPyConnection], mechanism: str, card_of_file: CardOfFile
) -> None:
    with made(_publish, mechanism) as con:
        for html in (publisher_card(con, mechanism), card_of_file(con, mechanism)):
            page = Page(html)
            for (statement,) in con.execute(
                "SELECT statement FROM priv.guarantee WHERE release = ?", [mechanism]
            ).fetchall():
                assert " ".join(statement.split()) in page.text
            # Of rows that differ in how far they are perturbed nothing is said value by value.
            varied = mechanism == "shuffled"
            assert page.tags.count("svg") >= 1 + 5
            assert "missing" in page.text
            headings = ["In short", "Accuracy", "How to query it", "Before you use it"]
            for words in [*headings, *([] if varied else ["What one row reveals"])]:
                assert words in page.text
            for statement in page.statements:
                assert con.execute(statement).fetchall()


def test_in_short_is_what_the_law_of_the_release_says(con: duckdb.DuckDBPyConnection) -> None:
    """Uniform perturbation from rho1 .1 to rho2 .4: odds change by 6 at most, so one half becomes 6/7."""
    text = Page(publisher_card(con, "uniform")).text
    assert "did not enter the release" not in text
    assert "someone who was half sure of a statement about a person may be 85.7% sure" in text
    rows = re.findall(r"disease (?:\w+) ([\d.]+)% ([\d.]+)% ([\d.]+)%", text)
    assert len(rows) == 5
    worst = []
    for row in rows:
        before, one, all_of_them = (float(each) / 100 for each in row)
        assert before < one <= all_of_them + 1e-3
        assert all_of_them == pytest.approx(before * 6 / (1 + before * 5), abs=1e-3)
        worst.append(all_of_them)
    assert worst == sorted(worst, reverse=True)
    assert "No row is unique in these columns." in text


def test_three_columns_and_two_records_are_composed_on_at_most_three_pages(
    prepared: Callable[..., duckdb.DuckDBPyConnection], card_of_file: CardOfFile, tmp_path: Path
) -> None:
    """One sentence for a person, what is the same of several columns once, and no figure of mathematics."""
    with prepared() as con:
        con.execute(
            "CREATE TABLE stays AS SELECT i AS id, i // 2 AS patient, hash('a' || i) % 8 AS age,"
            " 'C' || hash('d' || i) % 30 AS first, 'C' || hash('e' || i) % 30 AS other,"
            " 'w' || hash('w' || i) % 3 AS ward"
            " FROM range(8000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('stays', 'r', sensitive := ['first', 'other', 'ward'], epsilon := 2.0,"
            " record_id := 'id', person := 'patient')"
        )
        html = card_of_file(con, "r")
    text = Page(html).text
    assert text.count("All that is published of one person, 3 noisy values in each of up to 2") == 1
    assert "epsilon = 2 x 6 = 12). That promises next to nothing." in text
    assert "In the worst case nearly everything" in text
    assert text.count("From one noisy value alone: whatever was known before") == 1
    assert "true values of first, other or ward change" in text
    assert not re.search(r"\de[+]\d|\binf\b|exp\(", text)
    if CHROMIUM is not None:
        (tmp_path / "card.html").write_text(html, "utf-8")
        run_chromium(tmp_path, f"--print-to-pdf={tmp_path / 'card.pdf'}", "card.html")
        printed = (tmp_path / "card.pdf").read_bytes()
        assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3


def run_chromium(folder: Path, option: str, page: str) -> str:
    """Open a page of a folder in the browser, and return what it prints."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    return subprocess.run(
        [
            str(CHROMIUM),
            *options,
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=5000",
            *option.split(),
            f"file://{folder / page}",
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    ).stdout


def test_a_card_needs_no_network(con: duckdb.DuckDBPyConnection) -> None:
    html = publisher_card(con, "uniform")
    page = Page(html)
    assert page.links == []
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert "url(" not in html
    assert "@import" not in html
    assert not re.findall(r"https?://", html)


def test_the_publishers_card_says_that_it_saw_the_truth(
    con: duckdb.DuckDBPyConnection, card_of_file: CardOfFile
) -> None:
    assert "computed from true values" in Page(publisher_card(con, "uniform")).text
    assert "It reveals nothing that the release does not" in Page(card_of_file(con, "uniform")).text


def test_the_analysts_card_is_a_function_of_the_release_file(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    card_of_file: CardOfFile,
) -> None:
    """Two sources, the same published rows and catalog: the same card."""
    cards = []
    for shift in (0, 1):
        con = prepared()
        con.execute(
            f"CREATE TABLE t AS SELECT i, i % 8 AS a, 'v' || (i + {shift}) % 3 AS s FROM range(3000) AS t(i)"
        )
        con.execute(
            "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5, record_id := 'i')"
        ).fetchall()
        con.execute("UPDATE r SET noisy_s = 'v' || (rowid * 7 % 3)")
        con.execute("UPDATE priv.release SET created_at = TIMESTAMP '2026-01-01'")
        cards.append(card_of_file(con, "r"))
        con.close()
    assert cards[0] == cards[1]


def test_hostile_names_stay_names(
    prepared: Callable[..., duckdb.DuckDBPyConnection], card_of_file: CardOfFile
) -> None:
    con = prepared(None)
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    text = HOSTILE.replace("'", "''")
    con.execute(
        f"CREATE TABLE {quoted} AS SELECT i % 5 AS {quoted}, '{text}' || i % 3 AS s FROM range(3000) AS t(i)"
    )
    con.execute(
        f"FROM priv.publish_uniform('{text}', '{text}2', sensitive := 's', retention := 0.5)"
    ).fetchall()
    for html in (publisher_card(con, f"{HOSTILE}2"), card_of_file(con, f"{HOSTILE}2")):
        page = Page(html)
        assert "script" not in page.tags
        assert HOSTILE in page.text
        for statement in page.statements:
            assert con.execute(statement).fetchall()
    con.close()


def test_a_source_that_is_gone_is_reported_to_be(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE fleeting AS SELECT age, disease FROM visits")
    con.execute(
        "FROM priv.publish_uniform('fleeting', 'kept', sensitive := 'disease', retention := 0.5)"
    ).fetchall()
    con.execute("DROP TABLE fleeting")
    text = Page(publisher_card(con, "kept")).text
    assert "Without true counts" in text
    assert "fleeting" in text


def test_a_card_without_the_truth_quotes_none(con: duckdb.DuckDBPyConnection) -> None:
    """A source that got a value later: the error of the comparison would name it."""
    con.execute("CREATE TABLE changing AS SELECT age, disease FROM visits")
    con.execute(
        "FROM priv.publish_uniform('changing', 'before', sensitive := 'disease', retention := 0.5)"
    ).fetchall()
    con.execute("UPDATE changing SET disease = 'a secret plague'")
    text = Page(publisher_card(con, "before")).text
    assert "Without true counts" in text
    assert "plague" not in text


def test_a_generalized_sample_has_a_card(
    prepared: Callable[..., duckdb.DuckDBPyConnection], card_of_file: CardOfFile
) -> None:
    con = prepared(None)
    con.execute("""
        CREATE TABLE people AS SELECT 20 + i % 40 AS age, i % 3 AS region FROM range(20000) AS t(i);
        CREATE TABLE levels AS SELECT 'age' AS attribute, age::VARCHAR AS value, level,
            if(level = 0, age::VARCHAR, (age // 10 * 10)::VARCHAR || 's') AS generalized
        FROM (SELECT DISTINCT age FROM people), range(2) AS t(level)
        UNION ALL SELECT 'region', region::VARCHAR, 0, region::VARCHAR FROM range(3) AS r(region)
    """)
    con.execute(
        "FROM priv.publish_safe_k('people', 'sampled', k := 20, beta := 0.2, epsilon := 1.0,"
        " hierarchies := 'levels', levels := {'age': 1, 'region': 0})"
    ).fetchall()
    of_publisher = Page(publisher_card(con, "sampled"))
    assert "computed from true values" in of_publisher.text
    assert re.search(r"20s 5,000 \d,\d{3} \d,\d{3} to \d,\d{3}", of_publisher.text)
    con.execute("DROP TABLE levels")
    assert "Without true counts" in Page(publisher_card(con, "sampled")).text
    for html in (publisher_card(con, "sampled"), card_of_file(con, "sampled")):
        page = Page(html)
        assert page.text.count("Accuracy") == 1
        assert "generalized, level 1" in page.text
        assert "The rows are a sample" in page.text
        assert "weight := scale" in page.text
        for statement in page.statements:
            assert con.execute(statement).fetchall()
    con.close()


def test_bad_input_is_one_clear_sentence(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(UnknownRelease, match="did you mean 'uniform'"):
        publisher_card(con, "unifrom")
    con.execute(
        "FROM priv.publish_uniform('visits', 'another', sensitive := 'disease', record_id := 'id',"
        " rho1 := 0.1, rho2 := 0.4)"
    ).fetchall()
    with pytest.raises(InvalidParameter, match="a card describes one release"):
        analyst_card(con)
    con.execute("FROM priv.drop_release('another')").fetchall()
    with pytest.raises(InvalidParameter, match="does not exist"):
        write("", tmp_path / "no" / "card.html")
    write("<p>", tmp_path / "card.html")
    assert [path.name for path in tmp_path.iterdir()] == ["card.html"]


def test_the_command_writes_either_card(tmp_path: Path) -> None:
    database, release = tmp_path / "h.duckdb", tmp_path / "v.duckdb"
    con = duckdb_priv.connect(database)
    con.execute("CREATE TABLE t AS SELECT i % 8 AS a, i % 3 AS s FROM range(3000) AS t(i)")
    con.execute(
        "FROM priv.publish_uniform('t', 'r', sensitive := 's', retention := 0.5)"
    ).fetchall()
    con.execute("FROM priv.export_release('r', ?)", [str(release)]).fetchall()
    con.close()
    for arguments, words in (
        ([str(database), "r"], "do not share"),
        (["--release-file", str(release)], "computed from the release alone"),
    ):
        result = CliRunner().invoke(main, ["report", *arguments, "-o", str(tmp_path / "c.html")])
        assert result.exit_code == 0, result.output
        assert words in Page((tmp_path / "c.html").read_text("utf-8")).text
    for arguments, words in (
        ([str(database)], "name FILE and RELEASE"),
        ([str(database), "q"], "no release is called 'q'"),
        (["--release-file", str(database)], "Hint: "),
        (
            ["--release-file", str(release), "--explorer", "javascript:alert(1)"],
            "is not the address of a page",
        ),
        (
            [str(database), "r", "--explorer", "https://x.example"],
            "--explorer needs --release-file",
        ),
    ):
        result = CliRunner().invoke(main, ["report", *arguments, "-o", str(tmp_path / "d.html")])
        assert result.exit_code != 0
        assert words in result.output
    assert not (tmp_path / "d.html").exists()
    address = 'https://data.example.org/?a="b"&c'
    linked = [
        "report",
        "--release-file",
        str(release),
        "--explorer",
        address,
        "-o",
        str(tmp_path / "e.html"),
    ]
    assert CliRunner().invoke(main, linked).exit_code == 0
    page = Page((tmp_path / "e.html").read_text("utf-8"))
    assert page.links == [address]
    assert "Query this release in your browser" in page.text


PROBE = """
<body style="margin:0"><iframe id="f" src="card.html" style="width:360px;height:900px;border:0"></iframe>
<script>document.getElementById("f").onload = e => {
  const d = e.target.contentDocument.documentElement;
  const parts = [...d.querySelectorAll("section, table, figure, pre")];
  const fits = parts.every(x => x.getBoundingClientRect().right <= 360.5);
  document.title = "measured " + (d.scrollWidth <= 360 && fits) + " " + d.querySelectorAll("svg").length + " "
    + getComputedStyle(d.querySelector("body")).backgroundColor + ".";
}</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_a_card_by_day_and_by_night(
    con: duckdb.DuckDBPyConnection, dark: bool, tmp_path: Path
) -> None:
    (tmp_path / "card.html").write_text(publisher_card(con, "uniform"), "utf-8")
    (tmp_path / "probe.html").write_text(PROBE, "utf-8")
    option = "--force-dark-mode --dump-dom" if dark else "--dump-dom"
    seen = run_chromium(tmp_path, option, "probe.html")
    measured = re.search(r"measured (\w+) (\d+) rgb\((\d+), ", seen)
    assert measured is not None, seen[:500]
    fits, pictures, red = measured.groups()
    assert fits == "true"
    assert int(pictures) >= 2
    assert int(red) < 60 if dark else int(red) > 200

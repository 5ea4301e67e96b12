"""Every method explains itself, in its record, on its page and in the README, and what its page shows runs."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.methods.common.findings import UNIT_OF
from duckdb_priv.methods.register import METHODS
from duckdb_priv.publisher.persons import PERSON, RECORDS
from duckdb_priv.release.arguments import Arguments, read, specs
from duckdb_priv.release.request import SensitiveRequest
from duckdb_priv.sqltext import templates

pytestmark = pytest.mark.usefixtures("unasked")

ROOT = Path(__file__).parents[2]
PACKAGE = Path(inspect.getfile(duckdb_priv)).parent
SHOWN = re.compile(r"^```sql publisher\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)")
NAMED = re.compile(r"['\"](" + "|".join(sorted({*METHODS} - {"distribution"})) + r")['\"]")
"""A mechanism by its name; of values a distribution is asked for as well."""

WORLD = """
CREATE TABLE visits AS
    SELECT i AS id, 18 + i % 70 AS age, (['female', 'male'])[1 + i % 2] AS gender,
        CASE WHEN i % 10 = 0 THEN 'rare disease ' || i % 7 ELSE (['flu', 'cold', 'cough'])[1 + i % 3] END AS disease
    FROM range(20_000) AS t(i);
CREATE TABLE exchange AS
    SELECT o.disease AS original, p.disease AS published, if(o.disease = p.disease, 0.55, 0.05) AS probability
    FROM (SELECT DISTINCT disease FROM visits) AS o, (SELECT DISTINCT disease FROM visits) AS p;
CREATE TABLE hierarchies AS
    FROM priv.range_hierarchy('age', 5, 10, 20) UNION ALL
    SELECT 'gender', gender, level, CASE level WHEN 0 THEN gender ELSE '*' END
    FROM unnest(['female', 'male']) AS t(gender), range(2) AS l(level);
"""
"""The tables that the pages speak of."""


def page(name: str) -> Path:
    return PACKAGE / "methods" / name / "README.md"


@pytest.fixture
def con(prepared: Callable[..., duckdb.DuckDBPyConnection]) -> Iterator[duckdb.DuckDBPyConnection]:
    with prepared(None) as connection:
        connection.execute(WORLD)
        yield connection


@pytest.mark.once
def test_every_folder_is_a_method() -> None:
    folders = {path.parent.name for path in (PACKAGE / "methods").glob("*/__init__.py")}
    assert folders - {"common"} == set(METHODS)


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_the_page_of_a_method_says_what_its_record_says(name: str) -> None:
    words, text = METHODS[name].words, " ".join(page(name).read_text("utf-8").split())
    assert text.startswith(f"# {words.title} {METHODS[name].comment} ")
    assert words.when[1:] in text
    assert "## What it promises" in text
    assert "## What it does not" in text
    for target in LINK.findall(text):
        assert (page(name).parent / target).exists(), target


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_what_the_page_of_a_method_shows_runs(con: duckdb.DuckDBPyConnection, name: str) -> None:
    shown = SHOWN.findall(page(name).read_text("utf-8"))
    assert shown
    for statement in shown:
        assert f"priv.publish_{name}(" in statement
        (receipt,) = con.execute(statement).fetchall()
        assert receipt[1] == name
        con.execute("FROM priv.drop_release('visits_public')").fetchall()


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_the_readme_says_when_to_use_a_method(name: str) -> None:
    (row,) = (
        line
        for line in (ROOT / "README.md").read_text("utf-8").splitlines()
        if line.startswith("| `priv.publish_") and f"`priv.publish_{name}`" in line
    )
    assert METHODS[name].baseline == ("baseline" in row)


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_every_argument_has_a_meaning_an_example_and_a_line_in_the_reference(name: str) -> None:
    arguments = specs(METHODS[name].arguments)
    header = templates.read("publisher", f"publish_{name}")
    for argument, (spec, _) in arguments.items():
        assert not spec.meaning.endswith(".")
        assert spec.example
        assert re.search(rf'"?{argument}"? :=', header), argument


@pytest.mark.once
@pytest.mark.parametrize("name", METHODS)
def test_without_arguments_the_message_lists_all_that_are_missing(
    con: duckdb.DuckDBPyConnection, name: str
) -> None:
    method = METHODS[name]
    needed = [
        argument for argument, (_, default) in specs(method.arguments).items() if default is MISSING
    ]
    questions = [each.question for each in method.arguments.alternatives]
    if not (needed or questions or method.sensitive):
        return
    with pytest.raises(duckdb.Error) as caught:
        con.execute(f"FROM priv.publish_{name}('visits', 'visits_public')")
    reported = str(caught.value)
    for argument in needed:
        assert f"{argument} is missing" in reported
    for question in questions:
        assert question in reported
    assert ("no sensitive column is named" in reported) == method.sensitive
    assert reported.count("Hint:") == 1


@pytest.mark.once
def test_nobody_else_asks_for_a_mechanism_by_its_name() -> None:
    asking = [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in PACKAGE.rglob("*.py")
        if "methods" not in path.relative_to(PACKAGE).parts and "mechanism" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if NAMED.search(line)
    ]
    assert asking == []


@pytest.mark.once
def test_a_misspelt_argument_of_python_is_named_with_the_nearest_one() -> None:
    kinds: tuple[type[Arguments], ...] = (SensitiveRequest, METHODS["splu"].arguments)
    given = {"source": "visits", "release": "r", "sensitive": "disease", "gama": 3}
    with pytest.raises(duckdb_priv.PrivError) as caught:
        read(given, *kinds, of="publish_splu")
    assert str(caught.value) == (
        "gamma is missing; publish_splu has no argument 'gama'\n"
        "Hint: gamma is the number of values that a record hides among, usually 5 to 10: write gamma := 5\n"
        "      did you mean 'gamma'?"
    )


@pytest.mark.once
def test_every_finding_of_an_audit_has_a_unit() -> None:
    """Or none of its calls gives a value."""
    calls = [
        node
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and "finding" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))
    ]
    named = {
        call.args[0].value
        for call in calls
        if isinstance(call.args[0], ast.Constant) and ast.unparse(call.args[2]) != "None"
    }
    assert len(named) > 30
    assert named <= set(UNIT_OF)
    assert {PERSON, RECORDS} <= set(UNIT_OF)

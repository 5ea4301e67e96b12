"""The estimators: one file for each form, sections that fit together, and places that the page beside them explains."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import duckdb_priv
from duckdb_priv.errors import InvalidReleaseFile
from duckdb_priv.estimator.forms import COMMON, FOLDER, FORMS, SUM, form_of
from duckdb_priv.release.model import NUMBERS, SensitiveAttribute
from duckdb_priv.sqltext import templates
from duckdb_priv.sqltext.templates import MARKED, MARKED_ARGUMENT, sections

FORMULAS = ("estimate", "variance", "moments", "row_weight", "mle")
PAGE = (templates.root() / "analyst" / "README.md").read_text("utf-8")
FILES = sorted((templates.root() / "analyst").rglob("*.sql"))


def test_every_form_has_a_file_and_every_file_a_form():
    assert set(templates.names(FOLDER)) == {COMMON, *FORMS}
    for form in FORMS.values():
        assert set(form.builds_on) <= set(FORMS)


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.name)
def test_the_head_of_a_form_says_what_its_weights_are(form):
    assert templates.read(FOLDER, form.name).startswith(f"-- {form.name}: W[x, y] ")


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.name)
def test_every_sum_of_a_formula_is_a_section_or_a_number(form):
    for formula in FORMULAS:
        for field in SUM.findall(form.text(formula)):
            for kind in ("rows", "cell"):
                assert f"{kind}.{field}" in form.sections or field in NUMBERS, (formula, field)


def test_weights_of_rows_raise_no_error():
    """DuckDB 2 would compute the whole list of weights for each row: an expression with ``error`` is no constant."""
    raising = {
        name
        for name, form in FORMS.items()
        for section in {"row", "selected"} & form.sections.keys()
        if "error(" in form.text(section)
    }
    assert raising == {"singular"}


@pytest.mark.parametrize("name", templates.names(FOLDER))
def test_every_section_is_used(name):
    """By the page, which says what is asked of a form, or by another section."""
    used = {place for each in FILES for place in MARKED.findall(templates.body(each.read_text()))}
    for form in FORMS.values():
        used |= {f"list.{each}" for each in form.domain_lists()}
    for section in sections(FOLDER, name):
        asked = f"`{section}`" in PAGE or section.startswith(("rows.", "records.", "cell."))
        assert asked or section in used, section


def test_every_place_is_on_the_page():
    """And nothing is on the page that no file mentions."""
    table = PAGE[PAGE.index("## Placeholders") :]
    known = set(re.findall(r"@([A-Za-z_.…]+)@", table))
    arguments = set(re.findall(r"\{([a-z_]+)\}", table))
    anywhere = {section for name in templates.names(FOLDER) for section in sections(FOLDER, name)}
    found: set[str] = set()
    braces = set()
    for file in FILES:
        text = templates.body(file.read_text("utf-8"))
        found |= set(MARKED.findall(text))
        braces |= set(MARKED_ARGUMENT.findall(text))
    by_kind = {
        re.sub(
            r"^(number|numbers|constant|says|row|some|matrix)\..*",
            r"\1.NAME",
            re.sub("^joint_(?!step).*", "joint_…", name),
        )
        for name in found - anywhere
    }
    assert by_kind - known == set()
    # Whether a call is right is put together in Python, from places by their names.
    package = Path(duckdb_priv.__file__).parent
    written = "".join(path.read_text("utf-8") for path in (package / "estimator").glob("*.py"))
    named = set(re.findall(r'[@"]([a-z_]+)[@"]', written))
    assert known - by_kind - anywhere - named == {"SECTION"}
    # The weight and the quantile of a distribution are in sections that Python fills; {name} is also how the page
    # calls any of them.
    assert braces | {"weight", "quantile", "name"} == arguments


def test_nothing_asks_for_a_form_by_its_name():
    """But the register, the mechanisms that publish in a form, and ordinary SQL, which has laws of its own."""
    package = Path(duckdb_priv.__file__).parent
    for file in package.rglob("*.py"):
        if {"mechanism", "ordinary"} & set(file.parts) or file.name in ("forms.py", "plan.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                texts = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                about = any("form" in ast.unparse(side) for side in sides)
                assert not (about and texts & set(FORMS)), (file.name, node.lineno)


def test_an_unknown_form_is_refused():
    attribute = SensitiveAttribute("r", "s", "ENUM", ("a", "b"), "of_tomorrow", {})
    with pytest.raises(InvalidReleaseFile, match="of_tomorrow"):
        form_of(attribute)

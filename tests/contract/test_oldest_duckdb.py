"""What the oldest DuckDB does for us is tried on it: each SQL file, each method and each form."""

from __future__ import annotations

import pytest
from ordinary.releases import CALLS

from duckdb_priv.estimator.forms import FORMS
from duckdb_priv.methods.register import METHODS
from duckdb_priv.sqltext import templates

ALL = {
    "test_the_example_of_a_header_runs": {
        f"{folder}-{name}"
        for folder in ("publisher", "analyst")
        for name in templates.names(folder)
        if not name.startswith("publish_")
    },
    "test_it_follows_its_source": set(METHODS),
    "test_every_question_of_a_file_has_an_answer": set(CALLS),
}
"""By test: the parameters that it must run with."""

ELSEWHERE = {
    "batches": "test_a_batch_of_other_values_is_counted_by_decoys_of_its_own",
    "singular": "test_values_with_the_same_noise_are_refused_and_the_others_answered",
    "duplicated": "test_a_release_as_in_the_paper_duplicates_and_says_what_it_gives_away",
}
"""By form that has no release among them: the test that makes one."""
pytestmark = pytest.mark.once


def collected(test: str, request: pytest.FixtureRequest) -> list[pytest.Item]:
    """Return what this run has collected of a test; skip where that is nothing."""
    items = [item for item in request.session.items if item.name.split("[")[0] == test]
    return items or pytest.skip("it is not among the tests of this run")


@pytest.mark.parametrize("test", ALL)
def test_it_runs_with_all_that_there_are(test: str, request: pytest.FixtureRequest) -> None:
    items = collected(test, request)
    assert all("surface" in item.keywords for item in items)
    (parameters,) = items[0].iter_markers("parametrize")
    named = {name if isinstance(name, str) else "-".join(name) for name in parameters.args[1]}
    assert named == ALL[test]


@pytest.mark.parametrize("form", ELSEWHERE)
def test_it_runs_there(form: str, request: pytest.FixtureRequest) -> None:
    assert any("surface" in item.keywords for item in collected(ELSEWHERE[form], request))


def test_every_form_is_in_one_of_them() -> None:
    assert set(FORMS) == {*CALLS, *ELSEWHERE} - {"two_attributes"}

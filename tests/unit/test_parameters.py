"""Requests and catalog values that cannot be wrong once they exist."""

from __future__ import annotations

import re

import pytest

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.release.arguments import read
from duckdb_priv.release.model import SensitiveAttribute, to_json
from duckdb_priv.release.request import Request, Roles, SensitiveRequest

GOOD = {"source": "visits", "release": "public", "sensitive": "disease", "replace": False}


def test_one_name_is_a_list_of_one():
    (request,) = read(GOOD | {"record_id": "id", "exclude": ["name", "phone"]}, SensitiveRequest)
    assert request.sensitive == ("disease",)
    assert request.record_id == ("id",)
    assert request.exclude == ("name", "phone")


def test_a_column_may_be_record_id_and_excluded():
    (request,) = read(GOOD | {"record_id": "id", "exclude": "ID"}, SensitiveRequest)
    assert request.roles.exclude == ("ID",)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": None}, "source is missing"),
        ({"source": ""}, "source must be a name, got ''"),
        ({"source": 7}, "source must be a name, got 7"),
        ({"source": "a\0b"}, "source must be a name"),
        ({"release": None}, "release is missing"),
        ({"release": "   "}, "a release cannot be called '   '"),
        ({"release": "a.b"}, "a release cannot be called 'a.b'"),
        ({"sensitive": None}, "no sensitive column is named"),
        ({"sensitive": []}, "no sensitive column is named"),
        ({"sensitive": ["a", None]}, "sensitive must be a column name or a list of them"),
        ({"sensitive": ["a", ""]}, "sensitive must be a column name or a list of them"),
        ({"sensitive": {"a": 1}}, "sensitive must be a column name or a list of them"),
        ({"sensitive": ["a", "A"]}, "sensitive names a column twice"),
        ({"exclude": ["x", "X"]}, "exclude names a column twice"),
        ({"record_id": "Disease"}, "column 'Disease' is both sensitive and record_id"),
        ({"exclude": "DISEASE"}, "column 'DISEASE' is both sensitive and exclude"),
        ({"replace": None}, "replace must be true or false, got NULL"),
        ({"replace": "false"}, "replace must be true or false, got 'false'"),
        ({"replace": 1}, "replace must be true or false, got 1"),
    ],
)
def test_a_wrong_request_is_one_sentence_with_the_value_and_a_remedy(changed, message):
    with pytest.raises(InvalidParameter, match=re.escape(message)) as caught:
        read(GOOD | changed, SensitiveRequest)
    assert caught.value.hint
    assert str(caught.value) == f"{caught.value.message}\nHint: {caught.value.hint}"


def test_names_may_be_left_out_where_they_are_not_needed():
    (request,) = read({"source": "visits", "release": "public"}, Request)
    assert request.roles == Roles()


def test_json_has_one_form():
    assert to_json({"b": 1, "a": {"y": "ü", "x": None}}) == '{"a": {"x": null, "y": "ü"}, "b": 1}'


@pytest.mark.parametrize(("values", "missing"), [(("a", "b"), False), (("a", None), True)])
def test_the_missing_value_is_a_member_of_the_domain(values, missing):
    attribute = SensitiveAttribute("r", "s", "ENUM", values, "two_weights", {})
    assert (attribute.size, attribute.has_missing) == (2, missing)

"""Arguments: one short message reports everything that is wrong, and nothing else can happen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duckdb_priv.errors import ECHOED, InvalidParameter, UnknownName
from duckdb_priv.methods.register import METHODS, Method
from duckdb_priv.release.arguments import (
    COLUMNS,
    FLAG,
    LEVELS,
    NAME,
    NUMBER,
    NUMBERS,
    TABLES,
    VALUES,
    WHOLES,
    Alternatives,
    ArgumentKind,
    Arguments,
    argument,
    choice,
    nested,
    read,
    specs,
    whole,
)


@dataclass(frozen=True, kw_only=True)
class Noise(Arguments):
    scale: float | None = argument(NUMBER, "the scale", "0.5", default=None)
    low: float | None = argument(NUMBER, "the lower limit", "1", default=None)
    high: float | None = argument(NUMBER, "the upper limit", "2", default=None)
    size: int = argument(whole(2), "the size", "5")
    shape: str = argument(choice("round", "flat"), "the shape", "'flat'", default="round")

    alternatives: ClassVar = (
        Alternatives("give a scale, or low and high", (("scale",), ("low", "high"))),
    )


def reported(given: dict[str, Any]) -> InvalidParameter:
    with pytest.raises(InvalidParameter) as caught:
        read(given, Noise, of="add_noise")
    return caught.value


def test_what_is_given_is_read_and_what_is_not_has_its_default():
    (noise,) = read({"scale": 1, "size": 4.0}, Noise)
    assert noise == Noise(scale=1.0, size=4)
    assert (noise.shape, noise.low, noise.extends) == ("round", None, False)
    with pytest.raises(AttributeError):
        noise.size = 3


def test_everything_is_reported_at_once():
    error = reported({"high": "much", "shape": "flt", "sise": 4, "xyz": 1})
    assert error.message == (
        "high must be a number, got 'much'; size is missing; shape must be 'round' or 'flat', got 'flt';"
        " low is missing; add_noise has no argument 'sise'; add_noise has no argument 'xyz'"
    )
    assert error.hint is not None
    assert error.hint.splitlines() == [
        "high is the upper limit: write high := 2",
        "      size is the size: write size := 5",
        "      shape is the shape: write shape := 'flat'",
        "      low is the lower limit: write low := 1",
        "      did you mean 'size'?",
        "      it has 'scale', 'low', 'high', 'size', 'shape'",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 4}, "give a scale, or low and high"),
        ({"size": 4, "scale": 1, "low": 1}, "give a scale, or low and high, not both"),
        ({"size": 4, "low": 1}, "high is missing"),
        ({"scale": 1, "size": 1}, "size must be an integer of at least 2, got 1"),
        ({"scale": 1, "size": math.inf}, "size must be an integer of at least 2, got inf"),
        ({"scale": 1, "size": math.nan}, "size must be an integer of at least 2, got nan"),
        ({"scale": 1, "size": True}, "size must be an integer of at least 2, got True"),
        ({"scale": 10**400, "size": 4}, "scale must be a number, got 1000"),
        ({"scale": 1, "size": 4, "shape": None}, "shape must be 'round' or 'flat', got NULL"),
    ],
)
def test_one_thing_is_one_sentence(given, message):
    error = reported(given)
    assert error.message.startswith(message)
    assert "\n" not in str(error.hint)


def test_a_set_of_alternatives_may_be_empty():
    @dataclass(frozen=True, kw_only=True)
    class Limits(Arguments):
        low: float | None = argument(NUMBER, "the lower limit", "1", default=None)
        high: float | None = argument(NUMBER, "the upper limit", "2", default=None)

        alternatives: ClassVar = (Alternatives("", ((), ("low", "high"))),)

    assert read({}, Limits) == (Limits(),)
    with pytest.raises(InvalidParameter, match="low is missing"):
        read({"high": 1}, Limits)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (NUMBER, np.float64(0.5), 0.5),
        (NUMBER, np.int64(3), 3.0),
        (whole(1), np.int64(3), 3),
        (NUMBERS, [1, 2.5], (1.0, 2.5)),
        (NUMBERS, (), ()),
        (WHOLES, [1, 2.0], (1, 2)),
        (COLUMNS, "a", ("a",)),
        (COLUMNS, ["a", "b"], ("a", "b")),
        (VALUES, [1, None], [1, None]),
        (VALUES, {"a": [1], "b": []}, {"a": [1], "b": []}),
        (TABLES, {"a": "t"}, {"a": "t"}),
        (LEVELS, {"age": 2}, {"age": 2}),
        (FLAG, False, False),
    ],
)
def test_values_are_read(kind: ArgumentKind, value: Any, expected: Any):
    assert kind.read(value) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (NUMBER, "1"),
        (NUMBER, True),
        (NUMBERS, 0.3),
        (NUMBERS, [1, "2"]),
        (WHOLES, [1, 2.5]),
        (WHOLES, [math.inf]),
        (COLUMNS, [1]),
        (COLUMNS, ["a", ""]),
        (NAME, "a\0b"),
        (VALUES, "flu"),
        (VALUES, {"a": 1}),
        (TABLES, {"a": 1}),
        (TABLES, [""]),
        (LEVELS, [1]),
        (FLAG, 1),
    ],
)
def test_values_of_another_type_are_none(kind: ArgumentKind, value: Any):
    assert kind.read(value) is None


def test_the_entries_of_a_struct_are_about_known_names():
    assert nested({"AGE": 1, "sex": 2}, ["age", "Sex"], "column") == {"age": 1, "Sex": 2}
    with pytest.raises(UnknownName, match="no column is called 'agee'") as unknown:
        nested({"agee": 1}, ["age", "sex"], "column")
    assert unknown.value.hint == "did you mean 'age'?"
    with pytest.raises(InvalidParameter, match="a column is named twice"):
        nested({"AGE": 1, "age": 2}, ["age"], "column")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=100)
@given(drawn=st.lists(st.tuples(st.integers(0, 59), anything), max_size=6))
def test_whatever_is_given_is_read_or_refused_in_few_words(drawn: list[tuple[int, Any]]):
    """By every method; a number chooses one of its arguments."""
    for method in METHODS.values():
        known = specs(method.arguments)
        names = ["source", "release", "sensitive", *known, "other"]
        given = {names[number % len(names)]: value for number, value in drawn}
        error = refusal(method, given)
        assert error is None or error.hint
        assert len(error.message if error else "") < (ECHOED + 150) * (len(given) + len(known) + 2)


def refusal(method: Method, given: dict[str, Any]) -> InvalidParameter | None:
    try:
        method.read(given)
    except InvalidParameter as error:
        return error
    return None

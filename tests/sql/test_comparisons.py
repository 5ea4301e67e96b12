"""Lists, shares, differences, ratios, sums and means in release files: SQL against the same sums in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pytest
from reference import comparison
from reference.comparison import Functional
from scipy.special import ndtri

pytestmark = pytest.mark.usefixtures("plain_files")

Z = float(ndtri(0.975))
LIST, OTHER = ["flu", "cold"], ["gout"]
WORLD = """
CREATE TABLE visits AS
    SELECT i AS id, if(i % 3 = 0, 'm', 'f') AS gender, i % 41 AS age, (i * 37 % 101) / 10.0 - 3 AS cost,
        (['flu', 'cold', 'cough', 'gout', 'none'])[1 + least((i * i + i % 3) % 23 % 8, 4)] AS disease
    FROM range(3000) AS t(i);
CREATE TABLE numbered AS SELECT disease, (row_number() OVER (ORDER BY disease))::INTEGER AS n FROM visits GROUP BY 1;
CREATE TABLE gaps AS SELECT * REPLACE (nullif(disease, 'gout') AS disease) FROM visits;
CREATE TABLE exchange AS
    SELECT o.disease AS original, p.disease AS published,
        ([0.5, 0.25, 0.125, 0.0625, 0.0625])[1 + (p.n - o.n + 5) % 5] AS probability
    FROM numbered AS o, numbered AS p;
"""
PUBLIC = "sensitive := 'disease', record_id := 'id', public := ['gender', 'age', 'cost']"
PUBLISHED = {
    "uniform": f"priv.publish_uniform('visits', 'r', {PUBLIC}, retention := 0.4)",
    "missing": f"priv.publish_uniform('gaps', 'r', {PUBLIC}, retention := 0.4)",
    "fine_grain": f"priv.publish_fine_grain('visits', 'r', {PUBLIC}, tolerance := 5)",
    "matrix": f"priv.publish_matrix('visits', 'r', {PUBLIC}, matrix := 'exchange')",
    "splu": f"priv.publish_splu('visits', 'r', {PUBLIC}, gamma := 2)",
    "scaled": "priv.publish_reconstruction_private('visits', 'r', sensitive := 'disease', retention := 0.5,"
    " epsilon := 0.2, delta := 0.1, record_id := 'id', public := ['gender'])",
}


@dataclass
class Asked:
    """A release file, and what numpy needs to know of it."""

    name: str
    connection: duckdb.DuckDBPyConnection
    values: list[str | None]
    weights: np.ndarray[Any, Any]
    shown: np.ndarray[Any, Any]
    scale: np.ndarray[Any, Any]
    group: np.ndarray[Any, Any]
    cost: np.ndarray[Any, Any]
    parameters: dict[str, Any]

    def __call__(self, function: str, *arguments: str, where: str = "true") -> dict[str, float]:
        weight = ", weight := scale" if self.name == "scaled" else ""
        text = ", ".join(arguments)
        ((answer,),) = self.connection.execute(
            f"SELECT priv.reconstructed_{function}('r', noisy_disease, {text}{weight}) FROM r WHERE {where}"
        ).fetchall()
        return answer

    def h(self, *members: str | None) -> np.ndarray[Any, Any]:
        rows = [self.values.index(each) for each in members]
        return comparison.set_weights(self.weights, rows)[self.shown]

    def covariance(self, c: Any, d: Any, one: list[Any], two: list[Any]) -> float:
        both = [each for each in one if each in two]
        h, g, q = self.h(*one), self.h(*two), self.h(*both) if both else np.zeros(len(self.shown))
        c, d = c * self.scale, d * self.scale
        found = comparison.covariance(c, d, h, g, q)
        if self.name == "scaled":
            sign = 1 if one == two else -1
            sampled = np.sum((c * d)[self.scale > 1]) / (4 * self.parameters["sample_size"])
            return found + sign * float(sampled)
        if self.name == "splu":
            ones = np.ones(len(self.shown))
            rows = len(self.shown)
            c_mean, d_mean = np.sum(c) / rows, np.sum(d) / rows
            k_one, k_two = self.shrinkage(one), self.shrinkage(two)
            noise = partial(comparison.covariance, weights=h, other_weights=g, shared=q)
            return (
                found
                - k_two * d_mean * noise(c, ones)
                - k_one * c_mean * noise(ones, d)
                + k_one * c_mean * k_two * d_mean * noise(ones, ones)
            )
        return found

    def shrinkage(self, members: list[Any]) -> float:
        rows = [self.values.index(each) for each in members]
        h = comparison.set_weights(self.weights, rows)
        inside = np.isin(np.arange(len(h)), rows)
        if len(rows) == 1:
            own, other = self.parameters["laws"][members[0]]
            if own is not None:
                return 1 - own + other
        return float(1 - 1 / (h[inside].mean() - h[~inside].mean()))


@pytest.fixture(scope="module", params=PUBLISHED)
def asked(
    prepared: Callable[..., duckdb.DuckDBPyConnection],
    for_files: Callable[..., AbstractContextManager[None]],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("files") / f"{request.param}.duckdb"
    with for_files(), prepared() as publisher:
        publisher.execute(WORLD)
        publisher.execute(f"FROM {PUBLISHED[request.param]}")
        publisher.execute("FROM priv.export_release('r', ?)", [str(path)])
    with duckdb.connect(str(path), read_only=True) as connection:
        yield opened(request.param, connection)


def opened(name: str, connection: duckdb.DuckDBPyConnection) -> Asked:
    laws = connection.execute(
        "SELECT value, own, other FROM priv.coefficient ORDER BY position"
    ).fetchall()
    values = [value for value, *_ in laws]
    ((kind,),) = connection.execute("SELECT typeof(noisy_disease) FROM r LIMIT 1").fetchall()
    weights = np.array(
        connection.execute(
            f"SELECT priv.weight('r', CAST(s.value AS {kind}), x.value)"
            " FROM priv.coefficient AS x, priv.coefficient AS s ORDER BY x.position, s.position"
        ).fetchall()
    ).reshape(len(values), len(values))
    scaled = name == "scaled"
    rows = connection.execute(
        f"SELECT noisy_disease::VARCHAR, {'scale' if scaled else '1'}, gender, {'1' if scaled else 'cost'} FROM r"
    ).fetchall()
    shown, scale, gender, cost = (np.array(each) for each in zip(*rows, strict=True))
    ((size,),) = connection.execute(
        "SELECT coalesce(parameters ->> 'sample_size', '0')::DOUBLE FROM priv.release"
    ).fetchall()
    return Asked(
        name, connection, values, weights, np.array([values.index(each) for each in shown]),
        scale.astype(float), np.where(gender == "f", 1.0, 0.0), cost.astype(float),
        {"sample_size": size, "laws": {value: (own, other) for value, own, other in laws}},
    )  # fmt: skip


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-7)


def sql(members: list[Any]) -> str:
    return "[" + ", ".join("NULL" if each is None else f"'{each}'" for each in members) + "]"


def others_of(asked: Asked) -> list[Any]:
    return [None] if asked.name == "missing" else OTHER


def test_a_list_of_one_is_the_value(asked: Asked) -> None:
    for value in ("'flu'", "['flu']"):
        weight = ", weight := scale" if asked.name == "scaled" else ""
        ((single,),) = asked.connection.execute(
            f"SELECT priv.reconstructed_interval('r', noisy_disease, 'flu'{weight}) FROM r WHERE gender = 'f'"
        ).fetchall()
        assert asked("list_interval", value, where="gender = 'f'") == near(single)


def test_all_values_are_all_records(asked: Asked) -> None:
    found = asked("list_interval", sql(asked.values))
    assert found["estimate"] == near(asked.scale.sum())
    assert found["high"] == pytest.approx(asked.scale.sum(), abs=1e-4)
    if asked.name != "scaled":
        assert (found["stderr"], found["low"]) == pytest.approx((0, asked.scale.sum()), abs=1e-4)


def test_a_list_counts_its_values(asked: Asked) -> None:
    members, every = [*LIST, *others_of(asked)], np.ones(len(asked.shown))
    found = asked("list_interval", sql(members))
    assert found["estimate"] == near(np.sum(asked.scale * asked.h(*members)))
    assert found["stderr"] == near(np.sqrt(asked.covariance(every, every, members, members)))
    assert 0 <= found["low"] <= found["estimate"] <= found["high"] <= asked.scale.sum()
    share = asked("share", sql(members))
    assert share == near({key: value / asked.scale.sum() for key, value in found.items()})


def test_a_value_given_twice_counts_once(asked: Asked) -> None:
    assert asked("list_interval", sql([*LIST, *LIST])) == near(asked("list_interval", sql(LIST)))


Pair = tuple[float, float, float, float, float]


def of_values(asked: Asked, one: list[Any], two: list[Any]) -> Pair:
    every = np.ones(len(asked.shown))
    sums = (float(np.sum(asked.scale * asked.h(*each))) for each in (one, two))
    return (
        *sums,
        asked.covariance(every, every, one, one),
        asked.covariance(every, every, two, two),
        asked.covariance(every, every, one, two),
    )  # type: ignore[return-value]


def of_groups(asked: Asked, c: Any, d: Any) -> Pair:
    sums = (float(np.sum(asked.scale * each * asked.h(*LIST))) for each in (c, d))
    return (
        *sums,
        asked.covariance(c, c, LIST, LIST),
        asked.covariance(d, d, LIST, LIST),
        asked.covariance(c, d, LIST, LIST),
    )  # type: ignore[return-value]


def check(difference: dict[str, float], ratio: dict[str, float], pair: Pair) -> None:
    a, b, v, w, c = pair
    assert difference["estimate"] == near(a - b)
    assert difference["stderr"] == near(np.sqrt(v + w - 2 * c))
    assert ratio["estimate"] == near(a / b)
    assert ratio["stderr"] == near(np.sqrt(v - 2 * a / b * c + (a / b) ** 2 * w) / b)
    for each in (difference, ratio):
        assert each["low"] < each["estimate"] < each["high"]


@pytest.mark.parametrize("overlapping", [False, True])
def test_two_values_share_their_rows(asked: Asked, overlapping: bool) -> None:
    others = [*LIST, *others_of(asked)] if overlapping else others_of(asked)
    arguments = sql(LIST), sql(others)
    answers = asked("difference", *arguments), asked("ratio", *arguments)
    check(*answers, of_values(asked, LIST, others))


@pytest.mark.parametrize("whole", [False, True])
def test_two_groups_may_overlap(asked: Asked, whole: bool) -> None:
    other, text = (
        (np.ones(len(asked.shown)), "true") if whole else (1 - asked.group, "gender = 'm'")
    )
    arguments = sql(LIST), "gender = 'f'", text
    answers = asked("group_difference", *arguments), asked("group_ratio", *arguments)
    check(*answers, of_groups(asked, asked.group, other))
    sizes = np.sum(asked.scale * asked.group), np.sum(asked.scale * other)
    shares = asked("share_difference", *arguments), asked("share_ratio", *arguments)
    check(*shares, of_groups(asked, asked.group / sizes[0], other / sizes[1]))


@pytest.mark.parametrize("asked", ["splu"], indirect=True)
def test_complementary_groups_of_decoys_are_opposed(asked: Asked) -> None:
    """The whole table is known nearly exactly, so what one group has too much the other has too little."""
    *_, v, w, c = of_groups(asked, asked.group, 1 - asked.group)
    assert c < -0.5 * np.sqrt(v * w)
    found = asked("group_difference", sql(LIST), "gender = 'f'", "gender = 'm'")
    assert found["stderr"] > 1.2 * np.sqrt(v + w)


def test_sums_and_means(asked: Asked) -> None:
    every = np.ones(len(asked.shown))
    text = "1" if asked.name == "scaled" else "cost"
    total = float(np.sum(asked.scale * asked.cost * asked.h(*LIST)))
    count = float(np.sum(asked.scale * asked.h(*LIST)))
    v = asked.covariance(asked.cost, asked.cost, LIST, LIST)
    w = asked.covariance(every, every, LIST, LIST)
    c = asked.covariance(asked.cost, every, LIST, LIST)
    found = asked("sum", sql(LIST), text)
    assert (found["estimate"], found["stderr"]) == (near(total), near(np.sqrt(v)))
    assert found["low"] < total < found["high"]
    mean = total / count
    found = asked("mean", sql(LIST), text)
    assert found["estimate"] == near(mean)
    assert found["stderr"] == pytest.approx(
        np.sqrt(max(v - 2 * mean * c + mean**2 * w, 0)) / count, rel=1e-6, abs=1e-6
    )
    assert asked.cost.min() <= found["low"] <= mean <= found["high"] <= asked.cost.max()


def test_the_sum_of_ones_is_the_count(asked: Asked) -> None:
    assert asked("sum", sql(LIST), "1") == pytest.approx(
        asked("list_interval", sql(LIST)), rel=1e-6
    )
    assert asked("sum", sql(LIST), "-1")["estimate"] == near(
        -asked("sum", sql(LIST), "1")["estimate"]
    )


def count(asked: Asked, members: list[Any], group: Any = 1) -> Functional:
    """What is tested of a count among the records of a group."""
    law = asked.parameters["laws"]["flu"]
    step = 1 / (law[0] - law[1])
    rows = np.ones(len(asked.shown)) * group == 1
    found = comparison.functional(
        np.ones(rows.sum()), asked.h(*members)[None, rows], len(members) * law[1], step
    )
    return Functional(*(np.float64(np.squeeze(each)) for each in found))


@pytest.mark.parametrize("asked", ["uniform"], indirect=True)
def test_intervals_invert_one_test(asked: Asked) -> None:
    f, m = count(asked, LIST, asked.group), count(asked, LIST, 1 - asked.group)
    arguments = sql(LIST), "gender = 'f'", "gender = 'm'"
    sizes = asked.group.sum(), (1 - asked.group).sum()
    every, none = count(asked, LIST), count(asked, ["none"])
    *_, c = of_values(asked, LIST, ["none"])
    wanted = {
        ("list_interval", sql(LIST)): comparison.ends(every, Z),
        ("group_difference", *arguments): comparison.ends(comparison.difference(f, m, 0), Z),
        ("group_ratio", *arguments): comparison.ratio(f, m, 0, Z),
        ("share_difference", *arguments): comparison.ends(
            comparison.difference(f, m, 0, (1 / sizes[0], 1 / sizes[1])), Z
        ),
        ("difference", sql(LIST), "'none'"): comparison.ends(
            comparison.difference(every, none, c), Z
        ),
        ("ratio", sql(LIST), "'none'"): comparison.ratio(every, none, c, Z),
    }
    for question, right in wanted.items():
        assert list(asked(*question).values()) == near([float(each) for each in right]), question


@pytest.mark.parametrize("asked", ["uniform"], indirect=True)
@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("share('r', noisy_disease, ['flu', 'x'])", "\"r\" has no value 'x'; it has 'cold', 'cough'"),
        ("share('r', noisy_disease, NULL)", '"r" has no value NULL'),
        ("share('r', noisy_disease, [])", "give at least one value"),
        ("share('q', noisy_disease, 'flu')", 'no release is called "q"; there is "r"'),
        ("share('r', noisy_disease, 'flu', confidence := 1)", "confidence must lie strictly between 0 and 1"),
        ("share('r', noisy_disease, 'flu', weight := 2)", "leave out weight"),
        ("ratio('r', noisy_disease, 'flu', ['cold', 'y'])", "\"r\" has no value 'y'"),
        ("sum('r', noisy_disease, 'flu', 'nan'::DOUBLE)", "finite numbers"),
        ("mean('r', noisy_disease, 'flu', 'inf'::DOUBLE)", "finite numbers"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_an_error_in_words(asked: Asked, call: str, words: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        asked.connection.execute(f"SELECT priv.reconstructed_{call} FROM r").fetchall()
    assert words in str(caught.value)


def test_no_rows_have_no_share_and_no_mean(asked: Asked) -> None:
    assert asked("list_interval", sql(LIST), where="false")["estimate"] == 0
    assert asked("share", sql(LIST), where="false")["estimate"] is None
    assert asked("mean", sql(LIST), "1", where="false")["estimate"] is None

"""Lattices small enough to check by eye, and the nine attributes of Adult."""

import csv
import itertools
import secrets
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
import pytest
from conftest import DATA
from reference.exponential_probabilities import exponential_probabilities
from reference.node_scores import EXCESS, KEPT, QUALITIES, SMALL_CLASSES, SUPPRESSED

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.exponential_mechanism import exponential_mechanism
from duckdb_priv.mechanism.lattice import Lattice, score_nodes

AGE = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
SEX = np.array([[0, 1], [0, 0]])
SMALL = Lattice((AGE, SEX))
CELLS = [np.array([0, 1, 1, 2, 3]), np.array([0, 0, 1, 1, 1])]
COUNTS = np.array([3, 1, 2, 5, 4])
"""By age and sex: 0f 3, 1f 1, 1m 2, 2m 5, 3m 4."""


def test_nodes_in_order():
    expected = list(itertools.product(range(3), range(2)))
    assert [tuple(node) for node in SMALL.nodes().tolist()] == expected


def test_precision_is_the_mean_share_of_levels_kept():
    assert SMALL.precision().tolist() == [4, 2, 3, 1, 2, 0]
    assert Lattice((np.array([[0, 1]]), SEX)).precision().tolist() == [1, 0]


def test_scores_of_a_small_table():
    # Class sizes: 3 1 2 5 4 | 3 3 5 4 | 4 2 9 | 6 9 | 4 11 | 15
    scores = [1 + 3 + 2, 1 + 1 + 3 + 2, 2 + 7, 4 + 7, 2 + 9, 13]
    assert score_nodes(SMALL, CELLS, COUNTS, threshold=3).tolist() == scores


@pytest.mark.parametrize(
    ("quality", "before", "after"),
    [
        (EXCESS, [4], [5]),
        (KEPT, [4], [5]),
        (SUPPRESSED, [4], [5]),
        (SMALL_CLASSES, [], [1]),
    ],
)
def test_the_stated_sensitivity_is_reached(quality, before, after):
    moved = quality.measure(np.array(after), 5) - quality.measure(np.array(before, dtype=int), 5)
    assert abs(moved) == quality.sensitivity(5)


def test_no_score_but_excess_and_small_classes_has_sensitivity_one():
    assert [q.sensitivity(20) for q in QUALITIES] == [1, 20, 19, 1]


def test_excess_alone_is_best_where_everything_is_generalized_away():
    scores = score_nodes(SMALL, CELLS, COUNTS, threshold=3)
    assert scores.argmax() == SMALL.size - 1
    weighted = scores * SMALL.precision()
    assert SMALL.nodes()[weighted.argmax()].tolist() == [1, 0]


def test_a_lattice_too_large_to_score_is_refused():
    with pytest.raises(InvalidParameter, match="has 32768 nodes, the limit is 20000"):
        Lattice((SEX,) * 15)


def test_small_integer_types_do_not_overflow():
    rng = np.random.default_rng(3)
    lattice = Lattice((np.array([np.arange(50), np.arange(50) // 7]),) * 3)
    codes, counts = list(rng.integers(0, 50, (3, 400))), rng.integers(1, 100, 400)
    narrow = [code.astype(np.uint8) for code in codes], counts.astype(np.uint8)
    scores = score_nodes(lattice, codes, counts, threshold=3)
    assert score_nodes(lattice, *narrow, threshold=3).tolist() == scores.tolist()


def test_cells_that_could_not_be_numbered_are_refused():
    wide = Lattice((np.arange(2**15)[np.newaxis],))
    zeros, ones = (np.broadcast_to(np.int64(value), 2**24) for value in (0, 1))
    with pytest.raises(
        InvalidParameter, match="16777216 cells of attributes with up to 32768 leaves are too many"
    ):
        score_nodes(wide, [zeros], ones, threshold=3)


@pytest.fixture(scope="module")
def adult():
    """The lattice of nine attributes of Adult, its 26,912 cells, and the names of the columns."""
    if not DATA.exists():
        pytest.skip(f"the Adult data are not at {DATA}")
    columns, hierarchies, mappings = [], [], []
    for path in sorted((DATA / "adult_hierarchies").glob("*.csv")):
        name = path.stem.removeprefix("adult_hierarchy_").replace("-", "_")
        columns.append({"salary_class": "salary"}.get(name, name))
        with path.open() as lines:
            rows = list(csv.reader(lines, delimiter=";"))
        hierarchies.append(
            np.array(
                [np.unique(level, return_inverse=True)[1] for level in zip(*rows, strict=True)]
            )
        )
        leaf_order = np.argsort(hierarchies[-1][0])
        hierarchies[-1] = hierarchies[-1][:, leaf_order]
        mappings.append({rows[i][0]: code for code, i in enumerate(leaf_order)})
    *values, counts = (
        duckdb.read_parquet(str(DATA / "adult.parquet"))
        .aggregate(", ".join(columns) + ", count(*)")
        .fetchnumpy()
        .values()
    )
    codes = [
        np.array([mapping[str(v)] for v in column])
        for column, mapping in zip(values, mappings, strict=True)
    ]
    return Lattice(tuple(hierarchies)), codes, counts, columns


@pytest.fixture(scope="module")
def adult_excess(adult):
    """The excess of every node of Adult over classes of 40."""
    lattice, codes, counts, _ = adult
    return score_nodes(lattice, codes, counts, threshold=40)


def test_all_nodes_of_adult_are_scored(adult, adult_excess):
    lattice, codes, counts, columns = adult
    assert lattice.size == len(adult_excess) == 12_960
    assert (len(counts), counts.sum()) == (26_912, 45_222)

    for index in np.random.default_rng(7).integers(0, lattice.size, 25):
        node = lattice.nodes()[index]
        generalized = [
            h[level, code] for h, level, code in zip(lattice.hierarchies, node, codes, strict=True)
        ]
        classes = np.ravel_multi_index(generalized, [each.max() + 1 for each in generalized])
        _, class_of = np.unique(classes, return_inverse=True)
        sizes = np.bincount(class_of, weights=counts)
        assert adult_excess[index] == np.maximum(sizes - 39, 0).sum()

    grid = adult_excess.reshape(lattice.shape)
    for axis in range(len(columns)):
        assert (np.diff(grid, axis=axis) >= 0).all()
    assert adult_excess[-1] == adult_excess.max() == 45_222 - 39


def test_adult_by_excess_alone_loses_all_detail_and_weighted_by_precision_keeps_it(
    adult, adult_excess
):
    lattice, _, counts, columns = adult
    rate, weights = Fraction(0.1), lattice.precision()
    assert exponential_probabilities(adult_excess, rate)[-1] > 0.9

    scores = adult_excess * weights
    probabilities = exponential_probabilities(scores, rate / int(weights.max()))
    chosen = exponential_mechanism(scores, rate / int(weights.max()), partial(secrets.randbits, 64))
    assert probabilities[chosen] == probabilities.max() > 1 - 1e-9
    node = dict(zip(columns, lattice.nodes()[chosen].tolist(), strict=True))
    assert {name for name, level in node.items() if level == 0} >= {"marital_status", "sex", "race"}
    assert adult_excess[chosen] > 0.75 * counts.sum()

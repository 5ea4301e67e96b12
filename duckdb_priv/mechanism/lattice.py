"""The full-domain generalization lattice, and the scores of its nodes.

A node has one level of each attribute's hierarchy; all values are generalized to that level. All nodes are scored from
one contingency table; the table of each node is computed from that of a finer node. The exponential mechanism may
choose a node on the full table, before the published sample is drawn. Derivations: ``lattice.md`` beside this file.
Sources: Li, Qardaji, Su (ASIACCS 2012), theorem 3.11; McSherry and Talwar (FOCS 2007); Sweeney (2002) for the precision
of a node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.arrays import Integers

MAX_NODES = 20_000
"""Largest number of nodes. Scoring more would take minutes."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels of the attributes' hierarchies.

    There are two ages, which level 1 merges, and three towns in two regions of one country:

    >>> age = np.array([[0, 1], [0, 0]])
    >>> town = np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    >>> lattice = Lattice((age, town))
    >>> lattice.shape, lattice.size
    ((2, 3), 6)
    """

    hierarchies: tuple[Integers, ...]
    """One integer array [levels, leaves] per attribute, with the code of each leaf at each level.

    At level 0 leaf i has the code i. Codes start at 0 at every level. Leaves with equal codes at one level have equal
    codes at all higher levels.
    """

    def __post_init__(self) -> None:
        """Raise InvalidParameter for too many nodes, or a hierarchy that does not become coarser with each level."""
        if self.size > MAX_NODES:
            raise InvalidParameter(
                f"the lattice has {self.size} nodes, the limit is {MAX_NODES}",
                hint="fix some levels, or leave levels out of the hierarchies",
            )
        for attribute, hierarchy in enumerate(self.hierarchies):
            _check_hierarchy(attribute, hierarchy)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return tuple(len(hierarchy) for hierarchy in self.hierarchies)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return math.prod(self.shape)

    def nodes(self) -> Integers:
        """Return the levels of all nodes, [size, attributes]; the level of the last attribute changes fastest.

        Every array of scores and weights has this order.
        """
        return np.indices(self.shape, dtype=np.int64).reshape(len(self.shape), -1).T

    def precision(self) -> Integers:
        """Return the precision of each node, a whole number that measures how much detail it keeps.

        It is proportional to the mean over the attributes of ``1 - level / top level`` (Sweeney's precision). It is 0
        if everything is generalized to the top level, and largest if nothing is generalized. It depends only on the
        hierarchies, which are public, so scores may be multiplied by it.

        >>> age, town = np.array([[0, 1], [0, 0]]), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
        >>> Lattice((age, town)).precision()
        array([4, 3, 2, 2, 1, 0])
        """
        tops = np.array([max(levels - 1, 1) for levels in self.shape], dtype=np.int64)
        kept_levels = np.array(self.shape, dtype=np.int64) - 1 - self.nodes()
        return np.asarray(kept_levels @ (np.lcm.reduce(tops) // tops))


@dataclass(frozen=True)
class Quality:
    """A score of a node that is computed from its class sizes, and the sensitivity of the score."""

    measure: Callable[[Integers, int], int]
    """Function of class sizes and threshold that returns the score; a larger score is better."""
    sensitivity: Callable[[int], int]
    """Function of the threshold that returns the largest change of the score when one record is added or removed."""
    monotone: bool
    """Whether adding a record never lowers the score."""

    def rate(self, epsilon: float, threshold: int) -> Fraction:
        """Return the exact rate with which the exponential mechanism is ``epsilon``-private.

        It is ``epsilon / sensitivity`` for a monotone score, and half of that for other scores. If the scores are
        multiplied by public weights, divide the rate by the largest weight.

        >>> EXCESS.rate(0.5, threshold=20), KEPT.rate(0.5, threshold=20)
        (Fraction(1, 2), Fraction(1, 40))
        """
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise InvalidParameter(
                f"epsilon must be positive and finite, got {epsilon!r}", hint="try 0.1"
            )
        return Fraction(epsilon) / (self.sensitivity(threshold) * (1 if self.monotone else 2))


EXCESS = Quality(lambda c, k: int(np.maximum(c - (k - 1), 0).sum()), lambda k: 1, monotone=True)
"""Number of records beyond the first ``threshold - 1`` of each class."""
KEPT = Quality(lambda c, k: int(c[c >= k].sum()), lambda k: k, monotone=True)
"""Number of records in classes of at least ``threshold`` records."""
SUPPRESSED = Quality(lambda c, k: -int(c[c < k].sum()), lambda k: max(k - 1, 1), monotone=False)
"""Minus the number of records in classes of fewer than ``threshold`` records."""
SMALL_CLASSES = Quality(lambda c, k: -int((c < k).sum()), lambda k: 1, monotone=False)
"""Minus the number of classes of fewer than ``threshold`` records."""


def score_nodes(
    lattice: Lattice,
    codes: Sequence[Integers],
    counts: Integers,
    quality: Quality,
    threshold: int,
) -> Integers:
    """Return the score of every node, in the order of :meth:`Lattice.nodes`.

    ``codes`` has, for each attribute, the leaf code of each cell. ``counts`` has the number of records of each cell, at
    least 1. Equal cells are added up. Each node's classes are sorted once, and memory holds a few copies of the cells
    per attribute.

    >>> age, town = np.array([[0, 1], [0, 0]]), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    >>> cells = [np.array([0, 0, 1]), np.array([0, 1, 2])]
    >>> score_nodes(Lattice((age, town)), cells, np.array([3, 2, 4]), EXCESS, threshold=3)
    array([3, 5, 5, 3, 5, 7])
    """
    _check_cells(lattice, codes, counts, threshold)
    shape, hierarchies = lattice.shape, lattice.hierarchies
    scores = np.empty(shape, dtype=np.int64)

    # A tail is a combination of leaves of attribute a and all later attributes. There are tails[a] of them. Each
    # consists of a leaf of attribute a and a tail of the next attribute.
    tail = np.zeros(len(counts), dtype=np.int64)
    tails, leaf_of, rest_of = [1], [tail], [tail]
    for leaf in reversed(codes):
        key = leaf.astype(np.int64) * tails[0] + tail
        combined, tail = np.unique(key, return_inverse=True)
        leaves, rest = _split(combined, tails[0])
        tails, leaf_of, rest_of = [len(combined), *tails], [leaves, *leaf_of], [rest, *rest_of]

    def visit(node: tuple[int, ...], head: Integers, tail: Integers, sizes: Integers) -> None:
        """Score all nodes that begin with ``node``.

        A class has a head and a tail. The head numbers its generalized values of the attributes in ``node``. The tail
        numbers its leaves of the other attributes. Each level of the next attribute is grouped from the previous level,
        where any leaf of a generalized value represents it.
        """
        attribute = len(node)
        width, following = hierarchies[attribute].shape[1], tails[attribute + 1]
        leaf, tail = leaf_of[attribute][tail], rest_of[attribute][tail]
        for level, code in enumerate(hierarchies[attribute]):
            classes, sizes = _group((head * width + code[leaf]) * following + tail, sizes)
            value, tail = _split(classes, following)
            if attribute + 1 == len(shape):
                scores[(*node, level)] = quality.measure(sizes, threshold)
            else:
                visit((*node, level), np.cumsum(_starts(value)) - 1, tail, sizes)
            head, generalized = _split(value, width)
            representative = np.empty(width, dtype=np.int64)
            representative[code] = np.arange(width)
            leaf = representative[generalized]

    visit((), np.zeros(tails[0], dtype=np.int64), *_group(tail, counts.astype(np.int64)))
    return scores.ravel()


def _group(keys: Integers, sizes: Integers) -> tuple[Integers, Integers]:
    """Return the distinct keys, ascending, and the sum of the sizes for each key."""
    # Keys are in a few ascending runs, which a stable sort merges.
    order = keys.argsort(kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(_starts(keys))
    return keys[starts], np.add.reduceat(sizes[order], starts)


def _starts(ascending: Integers) -> NDArray[np.bool_]:
    """Return True at the first of each run of equal numbers."""
    return np.concatenate(([True], ascending[1:] != ascending[:-1]))


def _split(pairs: Integers, width: int) -> tuple[Integers, Integers]:
    """Return a and b of ``a * width + b``; three times as fast as np.divmod."""
    quotient = pairs // width
    return quotient, pairs - quotient * width


def _check_hierarchy(attribute: int, hierarchy: Integers) -> None:
    """Raise InvalidParameter unless level 0 numbers the leaves and each level is coarser than the level below."""
    levels, leaves = hierarchy.shape
    if not (levels and leaves and np.array_equal(hierarchy[0], np.arange(leaves))):
        raise InvalidParameter(
            f"level 0 of attribute {attribute} must code its leaves 0, 1, 2, ...",
            hint="number the leaves, and give the generalized values of each in that order",
        )
    for level, (fine, coarse) in enumerate(itertools.pairwise(hierarchy), start=1):
        if coarse.min() < 0 or coarse.max() >= leaves:
            raise InvalidParameter(
                f"level {level} of attribute {attribute} has a code outside 0 ... {leaves - 1}",
                hint="number the values of each level from 0",
            )
        merged = np.empty(leaves, dtype=np.int64)
        merged[fine] = coarse
        if not np.array_equal(merged[fine], coarse):
            raise InvalidParameter(
                f"level {level} of attribute {attribute} separates values that level {level - 1} "
                "has merged",
                hint="give equal values of one level equal values at the next level",
            )


def _check_cells(
    lattice: Lattice, codes: Sequence[Integers], counts: Integers, threshold: int
) -> None:
    if len(codes) != len(lattice.hierarchies) or any(len(c) != len(counts) for c in codes):
        raise InvalidParameter(
            f"{len(lattice.hierarchies)} attributes and {len(counts)} cells need one array of {len(counts)} codes "
            f"per attribute, got arrays of lengths {[len(c) for c in codes]}",
            hint="pass one array of leaf codes per attribute, each as long as the counts",
        )
    if len(counts) == 0 or counts.min() < 1:
        raise InvalidParameter(
            "there must be at least one cell, and every cell must have at least one record",
            hint="compute the cells with GROUP BY over all attributes",
        )
    for attribute, (code, hierarchy) in enumerate(zip(codes, lattice.hierarchies, strict=True)):
        if not (code.min() >= 0 and code.max() < hierarchy.shape[1]):
            raise InvalidParameter(
                f"attribute {attribute} has a code outside its {hierarchy.shape[1]} leaves",
                hint="add a leaf to the hierarchy for every value of the source",
            )
    widest = max(hierarchy.shape[1] for hierarchy in lattice.hierarchies)
    if len(counts) ** 2 * widest >= 2**63:
        raise InvalidParameter(
            f"{len(counts)} cells of attributes with up to {widest} leaves are too many for 64-bit numbers",
            hint="use coarser leaves",
        )
    if threshold < 1:
        raise InvalidParameter(
            f"threshold must be at least 1, got {threshold!r}", hint="write k / beta, rounded up"
        )

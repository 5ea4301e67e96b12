"""The full-domain generalization lattice, and the scores of its nodes.

A node says for every attribute to which level of its hierarchy it is generalized. All nodes are
scored from one contingency table, each from the table of a finer one. One of them may be chosen by
the exponential mechanism, on the full table, before the sample that is published is drawn.
Derivations: ``lattice.md`` beside this file. Sources: Li, Qardaji, Su (ASIACCS 2012), theorem 3.11;
McSherry and Talwar (FOCS 2007); Sweeney (2002) for the precision of a node.
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
"""A larger lattice is refused: scoring it would take minutes."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels of the attributes' hierarchies.

    Two ages that meet at level 1, and three towns in two regions in one country:

    >>> age = np.array([[0, 1], [0, 0]])
    >>> town = np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    >>> lattice = Lattice((age, town))
    >>> lattice.shape, lattice.size
    ((2, 3), 6)
    """

    hierarchies: tuple[Integers, ...]
    """Per attribute an integer array [levels, leaves]: the code of each leaf at each level. Level 0
    codes leaf i as i; at every level codes count from 0, and what has met stays together."""

    def __post_init__(self) -> None:
        """Refuse a lattice that is too large, and hierarchies that do not coarsen."""
        if self.size > MAX_NODES:
            raise InvalidParameter(
                f"the lattice has {self.size} nodes, more than the {MAX_NODES} that are scored",
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
        """Return all nodes as [size, attributes] levels, the last attribute fastest.

        This is the order of every array of scores and weights.
        """
        return np.indices(self.shape, dtype=np.int64).reshape(len(self.shape), -1).T

    def precision(self) -> Integers:
        """Return a weight per node: how much detail it keeps, as a whole number.

        Proportional to the mean over the attributes of ``1 - level / top level`` (Sweeney's
        precision): 0 where everything is generalized away, largest where nothing is. It depends on
        the hierarchies alone, so scores may be multiplied by it.

        >>> age, town = np.array([[0, 1], [0, 0]]), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
        >>> Lattice((age, town)).precision()
        array([4, 3, 2, 2, 1, 0])
        """
        tops = np.array([max(levels - 1, 1) for levels in self.shape], dtype=np.int64)
        kept_levels = np.array(self.shape, dtype=np.int64) - 1 - self.nodes()
        return np.asarray(kept_levels @ (np.lcm.reduce(tops) // tops))


@dataclass(frozen=True)
class Quality:
    """A score of a node from its class sizes, and how far one record can move it."""

    measure: Callable[[Integers, int], int]
    """(sizes of the classes, threshold) -> score; the larger, the better."""
    sensitivity: Callable[[int], int]
    """threshold -> the most that adding or removing one record changes the score."""
    monotone: bool
    """Whether a record that is added never lowers the score."""

    def rate(self, epsilon: float, threshold: int) -> Fraction:
        """Return the rate of the exponential mechanism that is ``epsilon``-private, exactly.

        ``epsilon / sensitivity`` for a monotone score, half of that for others. Where the scores
        are multiplied by public weights, divide the rate by the largest weight.

        >>> EXCESS.rate(0.5, threshold=20), KEPT.rate(0.5, threshold=20)
        (Fraction(1, 2), Fraction(1, 40))
        """
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise InvalidParameter(
                f"epsilon must be positive and finite, got {epsilon!r}", hint="try 0.1"
            )
        return Fraction(epsilon) / (self.sensitivity(threshold) * (1 if self.monotone else 2))


EXCESS = Quality(lambda c, k: int(np.maximum(c - (k - 1), 0).sum()), lambda k: 1, monotone=True)
"""Records beyond the first ``threshold - 1`` of each class: moves by at most 1."""
KEPT = Quality(lambda c, k: int(c[c >= k].sum()), lambda k: k, monotone=True)
"""Records in classes of at least ``threshold``."""
SUPPRESSED = Quality(lambda c, k: -int(c[c < k].sum()), lambda k: max(k - 1, 1), monotone=False)
"""Minus the records in classes below ``threshold``."""
SMALL_CLASSES = Quality(lambda c, k: -int((c < k).sum()), lambda k: 1, monotone=False)
"""Minus the number of classes below ``threshold``."""


def score_nodes(
    lattice: Lattice,
    codes: Sequence[Integers],
    counts: Integers,
    quality: Quality,
    threshold: int,
) -> Integers:
    """Return the score of every node, in the order of :meth:`Lattice.nodes`.

    codes: per attribute the leaf code of each cell; counts: how many records each cell holds, at
    least 1. A cell that is given twice counts as one. The time is that of sorting each node's
    classes once, the memory that of a few copies of the cells per attribute.

    >>> age, town = np.array([[0, 1], [0, 0]]), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    >>> cells = [np.array([0, 0, 1]), np.array([0, 1, 2])]
    >>> score_nodes(Lattice((age, town)), cells, np.array([3, 2, 4]), EXCESS, threshold=3)
    array([3, 5, 5, 3, 5, 7])
    """
    _check_cells(lattice, codes, counts, threshold)
    shape, hierarchies = lattice.shape, lattice.hierarchies
    scores = np.empty(shape, dtype=np.int64)

    # A tail is a combination of leaves of the attributes from some attribute on. Of the tails from
    # attribute a on there are tails[a]; each is a leaf of a, and a tail from the next one on.
    tail = np.zeros(len(counts), dtype=np.int64)
    tails, leaf_of, rest_of = [1], [tail], [tail]
    for leaf in reversed(codes):
        key = leaf.astype(np.int64) * tails[0] + tail
        combined, tail = np.unique(key, return_inverse=True)
        leaves, rest = _split(combined, tails[0])
        tails, leaf_of, rest_of = [len(combined), *tails], [leaves, *leaf_of], [rest, *rest_of]

    def visit(node: tuple[int, ...], head: Integers, tail: Integers, sizes: Integers) -> None:
        """Score all nodes that begin with ``node``.

        A class is a head, a number for its generalized values of the attributes in ``node``, and a
        tail of leaves. Each level of the next attribute is grouped from the level before, where
        any leaf of a generalized value stands for it.
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
    """Return the distinct keys, ascending, and the sum of the sizes of each."""
    # Keys come in few ascending runs, which a stable sort merges.
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
    """Raise InvalidParameter unless level 0 is the leaves and each level coarsens the last."""
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
                hint="each level must coarsen the level below it",
            )


def _check_cells(
    lattice: Lattice, codes: Sequence[Integers], counts: Integers, threshold: int
) -> None:
    if len(codes) != len(lattice.hierarchies) or any(len(c) != len(counts) for c in codes):
        raise InvalidParameter(
            f"{len(lattice.hierarchies)} attributes and {len(counts)} cells need as many codes, "
            f"got {[len(c) for c in codes]}",
            hint="give one array of leaf codes per attribute, each as long as the counts",
        )
    if len(counts) == 0 or counts.min() < 1:
        raise InvalidParameter(
            "every cell must hold at least one record, and there must be one",
            hint="GROUP BY all attributes",
        )
    for attribute, (code, hierarchy) in enumerate(zip(codes, lattice.hierarchies, strict=True)):
        if not (code.min() >= 0 and code.max() < hierarchy.shape[1]):
            raise InvalidParameter(
                f"attribute {attribute} has a code outside its {hierarchy.shape[1]} leaves",
                hint="every value of the source needs a leaf in the hierarchy",
            )
    widest = max(hierarchy.shape[1] for hierarchy in lattice.hierarchies)
    if len(counts) ** 2 * widest >= 2**63:
        raise InvalidParameter(
            f"{len(counts)} cells of up to {widest} values are too many to number",
            hint="start from coarser leaves",
        )
    if threshold < 1:
        raise InvalidParameter(
            f"threshold must be at least 1, got {threshold!r}", hint="k / beta is sensible"
        )

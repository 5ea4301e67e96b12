"""The full-domain generalization lattice, and the scores of its nodes.

A node has one level of each attribute's hierarchy; all values are generalized to that level. All nodes are scored from
one contingency table; the table of each node is computed from that of a finer node. The exponential mechanism may
choose a node on the full table, before the published sample is drawn. Derivations: ``lattice.md`` beside this file.
Sources: Li, Qardaji, Su (ASIACCS 2012), theorem 3.11; McSherry and Talwar (FOCS 2007); Sweeney (2002) for the precision
of a node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
        if self.size > MAX_NODES:
            raise InvalidParameter(
                f"the lattice has {self.size} nodes, the limit is {MAX_NODES}",
                hint="fix some levels, or leave levels out of the hierarchies",
            )

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


def score_nodes(
    lattice: Lattice,
    codes: Sequence[Integers],
    counts: Integers,
    threshold: int,
) -> Integers:
    """Return the excess of every node, in the order of :meth:`Lattice.nodes`.

    The excess is the number of records beyond the first ``threshold - 1`` of each class. One record more raises it by
    at most 1 and never lowers it. So the exponential mechanism with the rate epsilon is epsilon-private. If scores are
    multiplied by public weights, divide the rate by the largest weight (``lattice.md``).

    ``codes`` has, for each attribute, the leaf code of each cell. ``counts`` has the number of records of each cell, at
    least 1. Equal cells are added up. Each node's classes are sorted once, and memory holds a few copies of the cells
    per attribute.

    >>> age, town = np.array([[0, 1], [0, 0]]), np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]])
    >>> cells = [np.array([0, 0, 1]), np.array([0, 1, 2])]
    >>> score_nodes(Lattice((age, town)), cells, np.array([3, 2, 4]), threshold=3)
    array([3, 5, 5, 3, 5, 7])
    """
    _check_numbers(lattice, len(counts))
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
                scores[(*node, level)] = np.maximum(sizes - (threshold - 1), 0).sum()
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


def _check_numbers(lattice: Lattice, cells: int) -> None:
    widest = max(hierarchy.shape[1] for hierarchy in lattice.hierarchies)
    if cells**2 * widest >= 2**63:
        raise InvalidParameter(
            f"{cells} cells of attributes with up to {widest} leaves are too many for 64-bit numbers",
            hint="use coarser leaves",
        )

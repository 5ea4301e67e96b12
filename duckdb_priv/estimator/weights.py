"""The weights W[x, y] of a release as SQL: the weight of a row that reports y for the true value x.

A weight is a formula over two rows of ``priv.coefficient`` (``sql/analyst/ordinary/weights.sql``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from duckdb_priv.estimator.blocks import block_places
from duckdb_priv.release.model import Blocks
from duckdb_priv.sqltext.templates import fill, sections

NUMBER = re.compile(r"\b([xy])\.([a-z_]+)")


@cache
def formulas() -> Mapping[str, str]:
    """Return the formulas of all forms, and of the numbers that are computed by a formula."""
    return {
        name: " ".join(line.strip() for line in sql.splitlines())
        for name, sql in sections("analyst/ordinary", "weights").items()
    }


def weight(
    form: str,
    reported: str,
    size: int,
    blocks: Blocks | None = None,
    *,
    x: str = "x",
    y: str = "y",
    scale: str = "1",
) -> str:
    """Write W[x, y] in a form, over the tables ``x`` and ``y``; ``scale`` says how strongly the row is perturbed."""
    places = {"reported": reported, "scale": scale, "size": str(size)}
    if blocks:
        places |= block_places(blocks)
    text = fill(formulas()[form], places)
    return NUMBER.sub(lambda match: f"{x if match[1] == 'x' else y}.{match[2]}", text)


def numbers_of(form: str) -> list[str]:
    """Return the columns of ``priv.coefficient`` that the weights of a form use, besides position and value."""
    needed = dict.fromkeys(name for _, name in NUMBER.findall(formulas()[form]))
    return [
        f"{formulas()[each]} AS {each}" if each in formulas() else each
        for each in needed
        if each not in ("position", "value")
    ]


def steps_of(rows: int) -> int:
    """Return the number of steps into which a record's weight is divided, for ``rows`` published rows.

    Sums of whole steps have no rounding error below 2 ** 53: as long as weights are below 128 on average.

    >>> steps_of(3000) * 128 * 3000 < 2**53
    True
    """
    return 1 << max(46 - rows.bit_length(), 0)

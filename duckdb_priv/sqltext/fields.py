"""Shortens the names of struct fields in generated SQL, which only this SQL reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from string import ascii_lowercase, digits

from duckdb_priv.sqltext.quoting import TOKEN

BETWEEN = re.compile(f"({TOKEN.pattern})")
MADE = re.compile(r"(?<=[{,])(\s*)([a-z_]\w*)(?=: )")
"""Matches a field in a struct literal: the space before it, and its name."""
READ = re.compile(r"(?<=[\w)\]]\.)([a-z_]\w*)(?!\w|\s*\(|\.\w+\()")
"""Matches a field that is read, but not the name of a function in a schema."""
WORDS = {"as", "at", "by", "do", "go", "if", "in", "is", "no", "of", "on", "or", "to"}
"""Words of SQL that are as short as a name."""


def shortened(texts: Sequence[str], kept: Collection[str] = ()) -> list[str]:
    """Return texts of SQL in which the fields of structs have short names, the same in all texts.

    Names in ``kept`` stay: those of structs that someone else reads or makes.

    >>> shortened(["[{low: (s).sum + (s).n} FOR s IN [{sum: sum(x), n: 'sum: '}]][1]"], ["low"])
    ["[{low: (s).a + (s).n} FOR s IN [{a: sum(x), n: 'sum: '}]][1]"]
    """
    pieces = [BETWEEN.split(text) for text in texts]
    code = [piece for each in pieces for piece in each[::2]]
    made = {found[2] for piece in code for found in MADE.finditer(piece)}
    used = Counter(found[1] for piece in code for found in READ.finditer(piece))
    long = sorted(made - {*kept}, key=lambda name: (-len(name) * (used[name] + 1), name))
    unused = _names({*kept, *(name for name in used.keys() | made if len(name) <= 2)})
    names = dict(zip((name for name in long if len(name) > 2), unused, strict=False))
    for each in pieces:
        each[::2] = [
            READ.sub(
                lambda found: names.get(found[1], found[1]),
                MADE.sub(lambda found: found[1] + names.get(found[2], found[2]), piece),
            )
            for piece in each[::2]
        ]
    return ["".join(each) for each in pieces]


def _names(taken: Collection[str]) -> Iterator[str]:
    """Yield short names that are not taken and no words of SQL."""
    every = (*ascii_lowercase, *map("".join, product(ascii_lowercase, ascii_lowercase + digits)))
    return (name for name in every if name not in taken and name not in WORDS)

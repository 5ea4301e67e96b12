"""Random queries of the shapes in ``shapes.sql``, with the name of their kind. The same seed draws the same queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ordinary.generator import Generator

SECTION = re.compile(r"^-- (kind|part): (\w+)\n((?:(?!--).*\n)*)", re.MULTILINE)
PLACE = re.compile(r"\{([a-z_]+)\d*\}")
SECTIONS: Mapping[tuple[str, str], list[str]] = {
    (sort, name): [line.replace("(nothing)", "") for line in lines.splitlines() if line]
    for sort, name, lines in SECTION.findall(
        (Path(__file__).parent / "shapes.sql").read_text("utf-8")
    )
}
LINEAR = ("plain", "counts", "sums", "subqueries", "joins", "quoted", "dates", "nulls", "written")
"""Kinds whose estimates are sums over records, so that a group that is not there has 0 of each."""


class Shapes:
    """Draws queries by kind, over the tables of ``Generator``."""

    def __init__(self, seed: int, attributes: tuple[str, ...] = ("disease",)) -> None:
        self._parts = Generator(seed, attributes)
        self._kinds = [name for sort, name in SECTIONS if sort == "kind"]

    def draw(self) -> tuple[str, str]:
        """Draw a query, and return its kind, too."""
        kind = self._parts.random.choice(self._kinds)
        return kind, self._filled(("kind", kind)).replace(r"\n", "\n").replace(r"\t", "\t")

    def _filled(self, section: tuple[str, str]) -> str:
        """Draw a line of a section and all parts of it."""
        drawn: dict[str, str] = {}

        def part(found: re.Match[str]) -> str:
            if found[0] not in drawn:
                drawn[found[0]] = self._part(found[1])
            return drawn[found[0]]

        return PLACE.sub(part, self._parts.random.choice(SECTIONS[section]))

    def _part(self, name: str) -> str:
        if ("part", name) in SECTIONS:
            return self._filled(("part", name))
        if name == "where":
            return f" WHERE {self._part('condition')}" if self._parts.random.random() < 0.6 else ""
        if name == "condition":
            return self._parts.condition(1)
        if name == "number":
            return self._parts.number()
        return self._parts.of_disease() if name == "of_disease" else self._parts.of_public()

"""Formulas in steps. SQL has no ``let s = value in formula``; a list comprehension over one element replaces it.

Each step reads the struct of the previous step under a one-letter name. A field that holds a number is written where it
is read. A field that no step reads is left out: DuckDB plans the whole formula for each query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from duckdb_priv.sqltext.folding import folded
from duckdb_priv.sqltext.quoting import TOKEN

FIELD_OF_STEP = re.compile(r"\(t\)\.([a-z]\w*)")
FIELD = re.compile(r"\s*([a-z_]\w*):\s*(.*\S)\s*", re.DOTALL)
NUMBER = re.compile(r"\(?-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?\)?")
BRACKETS = re.compile(rf"{TOKEN.pattern}|[][(){{}},]")


def struct(**values: str) -> str:
    """Write a struct literal."""
    return "{" + ", ".join(f"{name}: {sql}" for name, sql in values.items()) + "}"


def without(text: str, *fields: str) -> str:
    """Return a struct literal without some fields; any other text is unchanged.

    >>> print(without("({a: f(1, 2), b: {c: 2}})", "b"))
    {a: f(1, 2)}
    """
    found = _fields(text)
    if not found:
        return text
    return struct(**{name: sql for name, sql in found.items() if name not in fields})


def let(name: str, text: str, **values: str) -> str:
    """Write a formula over a struct of values.

    >>> print(let("s", "(s).a - (s).b", a="count(*)", b="0e0"))
    [(s).a - 0e0 FOR s IN [{a: count(*)}]][1]
    """
    return str(Chain(struct(**values), (name, text)))


def each(name: str, step: str, *given: str) -> str:
    """Write the list of what a step makes of each struct.

    >>> print(each("s", "(s).a * 2", "{a: count(*), b: 2}", "{a: count(x), b: 3}"))
    [(s).a * 2 FOR s IN [{a: count(*)}, {a: count(x)}]]
    """
    step = folded(step)
    return f"[{step} FOR {name} IN [{', '.join(_read(of, name, step) for of in given)}]]"


@dataclass(frozen=True)
class Chain:
    """A formula in steps: each step reads the result of the previous one under a one-letter name.

    Each step is in the input of the next one, not in its formula: DuckDB 2 plans a list comprehension inside another
    one twice, the next level four times, and so on.

    >>> print(Chain("{a: count(*), c: 3}", ("p", "{b: p.a}")).then(("q", "q.b + 1")))
    [q.b + 1 FOR q IN [{b: p.a} FOR p IN [{a: count(*), c: 3}]]][1]
    >>> print(Chain("{a: count(*), c: 3, d: 4}", ("p", "{b: (p).a * (p).c}")).then(("q", "(q).b + 1")))
    [(q).b + 1 FOR q IN [{b: (p).a * 3} FOR p IN [{a: count(*)}]]][1]
    """

    given: str
    steps: tuple[tuple[str, str], ...]

    def __init__(self, given: str, *steps: tuple[str, str]) -> None:
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "steps", steps)

    def then(self, *steps: tuple[str, str]) -> Chain:
        """Return the chain with further steps."""
        return Chain(self.given, *self.steps, *steps)

    def over(self, before: Chain, name: str) -> Chain:
        """Return the chain whose input reads the result of another chain under a name."""
        return before.then((name, self.given), *self.steps)

    def where(self, condition: str, refused: str) -> Chain:
        """Return the chain that gives the error ``refused`` instead of its input unless a condition holds."""
        return Chain(f"CASE WHEN {condition} THEN {self.given} ELSE {refused} END", *self.steps)

    def __str__(self) -> str:
        """Write the formula."""
        return self.written()

    def written(self, column: str = "") -> str:
        """Write the formula, over the input or over a ``column`` that holds it."""
        texts = [folded(self.given)]
        for name, step in self.steps:
            texts.append(_inlined(texts[-1], name, folded(step)))
        for number in reversed(range(1, len(texts))):
            texts[number - 1] = _read(texts[number - 1], self.steps[number - 1][0], texts[number])
        text = f"[{column or texts[0]}]"
        for (name, _), step in zip(self.steps, texts[1:], strict=True):
            text = f"[{step} FOR {name} IN {text}]"
        return f"{text}[1]"


class StructFields:
    """The fields of a struct t from which an expression is computed: no field is written, or planned, twice.

    The struct has three steps: ``take`` adds aggregates and numbers, ``keep`` lists of weights, ``make`` the rest.

    >>> fields = StructFields()
    >>> half = fields.make(f"{fields.take('count(*)')} / 2")
    >>> print(fields.written(Chain(f"{half} + {fields.take('count(*)')}")))
    [(t).u0 + (t).t0 FOR t IN [{t0: (t).t0, u0: (t).t0 / 2} FOR t IN [{t0: count(*)}]]][1]
    """

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        self._kept: dict[str, str] = {}
        self._made: dict[str, str] = {}

    def take(self, sql: str) -> str:
        """Return the field of an aggregate or a number."""
        return f"(t).{self._taken.setdefault(sql, f't{len(self._taken)}')}"

    def keep(self, sql: str) -> str:
        """Return the field of weights, or of another expression over aggregates and numbers."""
        return f"(t).{self._kept.setdefault(sql, f'w{len(self._kept)}')}"

    def make(self, sql: str) -> str:
        """Return the field of an expression over aggregates, numbers and weights."""
        return f"(t).{self._made.setdefault(sql, f'u{len(self._made)}')}"

    def written(self, answer: Chain) -> str:
        """Write an expression over t."""
        steps = [each for each in (self._taken, self._kept, self._made) if each]
        known = {name for fields in steps for name in fields.values()}
        texts, pieces = [answer.given], []
        for fields in reversed(steps):
            needed = known.intersection(*[FIELD_OF_STEP.findall(" ".join(texts))])
            own = {name: sql for sql, name in fields.items() if name in needed}
            carried = {name: f"(t).{name}" for name in sorted(needed - own.keys())}
            texts = [*carried.values(), *own.values()]
            pieces.append(struct(**carried, **own))
        first, *others = reversed(pieces)
        return str(answer.over(Chain(first, *(("t", each) for each in others)), "t"))


def _inlined(given: str, name: str, step: str) -> str:
    """Return a step with the number fields of its input substituted."""
    numbers = {field: sql for field, sql in _fields(given).items() if NUMBER.fullmatch(sql)}
    if not numbers or _rebound(name, step):
        return step
    field = re.compile(rf"\({name}\)\.([a-z_]\w*)")
    written = field.sub(lambda found: numbers.get(found[1], found[0]), step)
    return folded(written)


def _read(given: str, name: str, step: str) -> str:
    """Return the input without the fields that the step does not read."""
    fields = _fields(given)
    if not fields or _rebound(name, step):
        return given
    read = re.findall(rf"\({name}\)\.([a-z_]\w*)", step)
    whole = re.search(rf"(?<![\w.]){name}(?![\w:])", step.replace(f"({name}).", ""))
    kept = {field: sql for field, sql in fields.items() if field in read}
    return given if whole or not kept else struct(**kept)


def _rebound(name: str, step: str) -> bool:
    """Whether a step contains a step with the same name."""
    return re.search(rf"\bFOR {name}\b|\blambda {name}\b", step) is not None


@lru_cache(maxsize=256)
def _fields(text: str) -> Mapping[str, str]:
    """Return the fields of a struct literal; an empty mapping for any other text.

    >>> _fields("({a: f(1, '}'), b: {c: 2}})")
    {'a': "f(1, '}')", 'b': '{c: 2}'}
    """
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    if not (text.startswith("{") and text.endswith("}")):
        return {}
    pieces = [FIELD.fullmatch(piece) for piece in _pieces(text[1:-1])]
    return {piece[1]: piece[2] for piece in pieces if piece} if all(pieces) else {}


def _pieces(text: str) -> Iterator[str]:
    """Split a text at the commas outside brackets."""
    depth = begin = 0
    for found in BRACKETS.finditer(text):
        if found[0] in "([{":
            depth += 1
        elif found[0] in ")]}":
            depth -= 1
        elif found[0] == "," and not depth:
            yield text[begin : found.start()]
            begin = found.end()
    yield text[begin:]

"""Macros in a publisher's database that return the facts of an attribute, chosen by release and attribute name.

Each kind of fact about an attribute (its numbers, its domain, its query texts) is one string. For each kind, one macro
chooses the string by the names of release and attribute. Short strings are in one literal of that macro, which DuckDB
writes and plans quickly. A long string is in its attribute's own macro, written once when the release is published. The
functions call these macros. So their text depends only on the shapes of the attributes: the forms and a few traits.
Publishing costs the same however many releases exist.

Subqueries on the catalog would be shorter, but DuckDB does not allow them here. A table function takes none ("Table
function cannot contain subqueries"), so ``query()`` gets its text from literals. ``enum_code`` needs the type of a
column when a statement is bound ("This function needs an ENUM as an argument"), so a wrong column would raise that
error instead of ours. And DuckDB would learn the form of a release only when it reads rows: the plan would compute the
aggregates of every form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from duckdb_priv.estimator.blocks import PLACES, block_facts
from duckdb_priv.estimator.forms import CONSTANTS, FORMS, form_of
from duckdb_priv.estimator.written import (
    RELEASE_FIELDS,
    Lookup,
    Shape,
    is_enumerated,
    listing,
    query_texts,
    release_fields,
    there_is,
    twin_names,
    type_name,
)
from duckdb_priv.release.model import EXTREMES, MATRICES, NUMBERS, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import SEPARATORS, exact, packed, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import MARKED_ARGUMENT, body, fill, read

FOLDER = "analyst/chosen"
QUERIES = ("inverse", "bayesian", "change", "pattern", "law", "own", "weight", "scale")
TYPES = {"has_missing": "BOOLEAN", "size": "INTEGER", "joined": "BOOLEAN"}
"""SQL types of the fields of FACTS, except numbers and the form."""
BETWEEN = SEPARATORS[0]
"""Separates fields that hold only our names and numbers, and texts without this character."""
FACTS, LISTS_, QUERIES_, TEXTS, LISTING = "_facts", "_lists", "_queries", "_texts", "_listing"
TYPE, COLUMN, TWINS, BLOCKS = "_type", "_column", "_twins", "_blocks"
STATED = {
    FACTS: "The numbers",
    LISTS_: "The matrices",
    QUERIES_: "The texts of queries",
    TEXTS: "The domain",
    LISTING: "The domain, for people,",
    TYPE: "The type of the column",
    COLUMN: "The name of the column",
    TWINS: "The columns that have the same type",
    BLOCKS: "The blocks of values",
}
"""What each choosing macro returns."""
FIELDS: Mapping[str, Sequence[str]] = {
    FACTS: ("form", "has_missing", "size", "joined", *CONSTANTS, *NUMBERS, *EXTREMES),
    LISTS_: [*MATRICES],
}
"""Fields of the text that each choosing macro returns."""
PLACE, RELEASES, THERE, KNOWN = "_place", "_releases", "_there", "_known"
READ = ("_fact", "_number", "_numbers", "_number_at", "_every_number", "_query", "_of_release")
"""Macros that read one field of the facts of an attribute or a release."""
QUANTILE = "_normal_quantile"
"""The macro of the normal quantile. It keeps the functions short: DuckDB 2 needs a microsecond for every character of a
macro that it creates."""
SHORT = 500
"""Maximum number of characters of a text that a choosing macro holds itself."""
APART, ELSEWHERE = SEPARATORS[-1], SEPARATORS[-2]
"""The separator of short texts, and the mark that replaces a long text. A text that contains either counts as long."""
USUAL = {"two_weights": Shape("two_weights", True, True, True, frozenset(NUMBERS))}
"""Shapes of the functions before the first publication: texts, some missing, perturbed uniformly. If the first release
has this shape, with or without missing values, the functions are not written again."""


@dataclass(frozen=True, eq=False)
class NamedAttribute:
    """A sensitive attribute in a publisher's database, with the names by which macros choose it."""

    release: str
    name: str
    form: str
    enumerated: bool
    column: str = ""
    """Name of its published column."""
    lower_release: str = ""
    """Release and attribute name in lower case, as DuckDB's ``lower`` returns them."""
    lower_name: str = ""
    namesake: bool = False
    """Whether a column of the release has the release's name."""
    short: Mapping[str, str] = field(default_factory=dict)
    """Its short texts, by choosing macro."""

    @property
    def has_place(self) -> bool:
        """Whether reported values are looked up by their position in an ENUM."""
        form = FORMS[self.form]
        return self.enumerated and (form.by_record or form.blocks)

    def macro(self, kind: str) -> str:
        """Return the name of the attribute's own macro of a kind."""
        return f"{kind} {self.release}.{self.name}"


def own_names(each: NamedAttribute) -> set[str]:
    """Return the names of an attribute's own macros."""
    long = {each.macro(kind) for kind in STATED if kind not in each.short}
    return long | ({each.macro(PLACE)} if each.has_place else set())


def choice_names() -> set[str]:
    """Return the names of the choosing macros."""
    return {*STATED, *READ, QUANTILE, PLACE, RELEASES, THERE, KNOWN}


def own_statements(attribute: SensitiveAttribute) -> tuple[list[str], dict[str, str]]:
    """Return the statements of an attribute's own macros, and its short texts by choosing macro."""
    each = NamedAttribute(
        attribute.release, attribute.name, attribute.form, is_enumerated(attribute)
    )
    of = f"of {attribute.release}.{attribute.name}, for the functions of the analyst."
    statements, short = [], {}
    for kind, text in _texts_of(attribute).items():
        if _is_short(kind, text):
            short[kind] = text
        else:
            content = literal(text) if kind != TYPE else type_name(attribute)
            comment = f"{STATED[kind]} {of}"
            statements.append(_macro("attribute", each.macro(kind), comment, content=content))
    if each.has_place:
        comment = f"The place in the domain of what a row reports {of}"
        statements.append(_macro("place", each.macro(PLACE), comment, enum=attribute.column_type))
    return statements, short


def _is_short(kind: str, text: str) -> bool:
    # DuckDB spells characters that are not printable.
    spelled = kind == TYPE and not text.isprintable()
    return len(text) <= SHORT and not {APART, ELSEWHERE} & {*text} and not spelled


def _texts_of(attribute: SensitiveAttribute) -> dict[str, str]:
    queries = query_texts(attribute)
    return {
        FACTS: _fields(FACTS, _facts(attribute)),
        LISTS_: _fields(LISTS_, attribute.encoded),
        QUERIES_: packed(packed(MARKED_ARGUMENT.split(queries.get(name, ""))) for name in QUERIES),
        TEXTS: packed(value for value in attribute.values if value is not None),
        LISTING: listing(attribute.values),
        COLUMN: attribute.column,
        TYPE: attribute.column_type,
        TWINS: packed(twin_names(attribute)),
        BLOCKS: ",".join(block_facts(attribute.blocks)) if attribute.blocks else "",
    }


def _fields(kind: str, content: Mapping[str, str]) -> str:
    return BETWEEN.join(content.get(name, "") for name in FIELDS[kind])


def _facts(attribute: SensitiveAttribute) -> dict[str, str]:
    return {
        "form": attribute.form,
        "has_missing": literal(attribute.has_missing),
        "size": str(attribute.size),
        "joined": literal(form_of(attribute).joined),
        **{name: repr(number) for name, number in attribute.constants.items()},
        **{name: _numbers(numbers) for name, numbers in attribute.every_number.items()},
    }


def _numbers(numbers: Sequence[float]) -> str:
    """Write numbers as a text; a single number if all are equal."""
    shown = numbers[:1] if len(set(numbers)) == 1 else numbers
    return ",".join(repr(float(number)) for number in shown)


def reading_statements() -> Iterator[str]:
    """Yield the macros with which the functions read the chosen facts."""
    quantile = fill(
        body(read("analyst/fragments", "normal_quantile")), {"confidence": "_confidence"}
    )
    places = {
        "between": literal(BETWEEN),
        "size": str(_place("size")),
        "quantile": quantile,
        "pieces": _unpacked(f"list_extract({_unpacked(f'priv.{QUERIES_}(_key)')}, _place)"),
        "every": _unpacked(f"priv.{RELEASES}(_key)"),
    }
    for name in (*READ, QUANTILE):
        yield qualified(fill(body(read(FOLDER, name.removeprefix("_"))), places))


def choice_statements(attributes: Sequence[NamedAttribute]) -> Iterator[str]:
    """Yield the macros that choose among attributes, which must be sorted by name."""
    releases: dict[str, list[NamedAttribute]] = {}
    for of in attributes:
        releases.setdefault(of.release, []).append(of)
    # Each has two names: the only attribute of a release can also be named by the release.
    named = {
        of: (full := f"{of.lower_release}.{of.lower_name}", of.lower_release if alone else full)
        for each in releases.values()
        for alone in [len(each) == 1]
        for of in each
    }
    for kind, stated in STATED.items():
        comment = f"{stated} of the attribute that is asked for."
        long = [of for of in attributes if kind not in of.short]
        calls = ", ".join(f"priv.{identifier(of.macro(kind))}()" for of in long)
        chosen = _extracted(f"[{calls}]", [named[of] for of in long])
        if len(long) < len(attributes):
            short = [of.short.get(kind, ELSEWHERE) for of in attributes]
            among = _extracted(_split(short), [*named.values()])
            chosen = f"coalesce(nullif({among}, '{ELSEWHERE}'), {chosen})" if long else among
        yield _macro("choice", kind, comment, chosen=chosen)
    cases = " ".join(
        f"WHEN lower(_key) IN ({', '.join(map(literal, sorted({*named[of]})))})"
        f" THEN priv.{identifier(of.macro(PLACE))}(_column)"
        for of in attributes
        if of.has_place
    )
    yield _macro(
        "choice_of_place",
        PLACE,
        "The place in the domain of what a row reports of the attribute that is asked for.",
        cases=cases or "WHEN true THEN NULL::INTEGER",
    )
    fields = [
        release_fields(
            release,
            [of.name for of in each],
            [of.column for of in each if FORMS[of.form].reported],
            each[0].namesake,
        )
        for release, each in releases.items()
    ]
    yield _macro(
        "choice",
        RELEASES,
        "The table and the attributes of a release.",
        chosen=_extracted(
            _split([packed(text or "" for text in each.values()) for each in fields]),
            [(each[0].lower_release,) * 2 for each in releases.values()],
        ),
    )
    yield _macro(
        "attribute",
        THERE,
        "The releases that there are, for people.",
        content=literal(there_is(releases)),
    )


def kept_statement(attributes: Iterable[NamedAttribute], shapes: Mapping[str, Shape]) -> str:
    """Write the macro that records the chosen texts and the functions' shapes for the next publication."""
    kept = {
        "short": [[of.release, of.name, of.short] for of in attributes],
        "shapes": [{**asdict(each), "equal": sorted(each.equal)} for each in shapes.values()],
    }
    comment = (
        "What is known of releases in short, and the shapes that the functions are written for."
    )
    return _macro("attribute", KNOWN, comment, content=literal(json.dumps(kept)))


def kept(text: str) -> tuple[dict[tuple[str, str], dict[str, str]], dict[str, Shape]]:
    """Read that record: short texts by release and attribute, and shapes by form."""
    read = json.loads(text)
    shapes = [Shape(**{**each, "equal": frozenset(each["equal"])}) for each in read["shapes"]]
    return (
        {(release, name): short for release, name, short in read["short"]},
        {shape.form: shape for shape in shapes},
    )


def _split(contents: Sequence[str]) -> str:
    return f"string_split({literal(APART.join(contents))}, '{APART}')" if contents else "[]"


def _extracted(contents: str, keys: Sequence[tuple[str, str]]) -> str:
    """Write the look-up of one of the contents by its key; each has two keys."""
    if not keys:
        return "NULL::VARCHAR"
    every = texts(key for two in keys for key in two)
    return f"list_extract({contents}, (list_position({every}, lower(_key)) + 1) // 2)"


def _macro(file: str, macro: str, comment: str, **fillings: str) -> str:
    places = {"macro": identifier(macro), "comment": literal(comment), **fillings}
    return qualified(fill(body(read(FOLDER, file)), places))


class Chosen(Lookup):
    """A lookup that calls the choosing macros."""

    def __init__(self, shapes: Mapping[str, Shape], key: str = "_release") -> None:
        self.shapes, self._key = shapes, key

    def among(self, *forms: str) -> Chosen:
        """Return the lookup restricted to attributes of some forms."""
        return Chosen({form: self.shapes[form] for form in forms}, self._key)

    def by_key(self, key: str) -> Chosen:
        """Return the lookup of the attribute named by an SQL expression of the form 'release.attribute'."""
        return Chosen(self.shapes, key)

    def is_here(self) -> str:
        """Write the condition that the requested attribute is one of these."""
        among = ", ".join(map(literal, self.shapes))
        return f"({self._field(FACTS, 'form')} IN ({among}))" if among else "NULL::BOOLEAN"

    def fact(self, name: str) -> str:
        """Write one of ATTRIBUTE_FACTS: a call of the macro of that name, or one of the numbers."""
        if name == "has_missing" and not any(shape.has_missing for shape in self.shapes.values()):
            return "false"
        if name in TYPES:
            return f"CAST({self._field(FACTS, name)} AS {TYPES[name]})"
        every = f"priv._{name}({self._key})"
        if name == "twins":
            return _unpacked(every)
        if name == "texts":
            return f"list_slice(string_split({every}, {self._between(every)}), 2, -2)"
        return every

    def is_value(self, text: str) -> str:
        """Write the condition that a text is a value of the domain."""
        every = f"CAST(priv.{TEXTS}({self._key}) AS VARCHAR)"
        between, text = self._between(every), exact(text)
        # Without the casts, DuckDB 1.5 does not know the type of a NULL.
        enclosed = f"CAST({between} || {text} || {between} AS VARCHAR)"
        return f"(contains({every} COLLATE C, {enclosed}) AND NOT contains({text}, {between}))"

    def number(self, name: str, position: str) -> str:
        """Write one number of the value at a position in the domain."""
        if all(name in shape.equal for shape in self.shapes.values()):
            return self.constant(name)
        return f"priv._number_at({self._key}, {_place(name)}, {position})"

    def numbers(self, name: str) -> str:
        """Write the list of one number for all values."""
        return f"priv._every_number({self._key}, {_place(name)})"

    def encoded(self, name: str) -> str:
        """Write one of MATRICES as a list of encoded rows."""
        return f"string_split(nullif({self._field(LISTS_, name)}, ''), '|')"

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return f"priv._number({self._key}, {_place(name)})"

    def place(self) -> str:
        """Write the position of a row's reported value in the domain, or of its block among all blocks, from 0."""
        return f"priv.{PLACE}({self._key}, _column)"

    def blocks(self) -> Mapping[str, str]:
        """Return the facts of the blocks that rows report, by their names in blocks.PLACES."""
        every = f"string_split(nullif(priv.{BLOCKS}({self._key}), ''), ',')"
        found = [f"list_extract({every}, {place})" for place in range(1, len(PLACES) + 1)]
        numbers = [f"CAST({each} AS INTEGER)" for each in found[:-1]]
        return dict(zip(PLACES, [*numbers, found[-1]], strict=True))

    def query(self, name: str, arguments: Mapping[str, str]) -> str:
        """Write the text of a query, or a part of one, with the arguments of the call filled in."""
        cases = " ".join(f"WHEN '{each}' THEN {sql}" for each, sql in arguments.items())
        pieces = f"priv._query({self._key}, {QUERIES.index(name) + 1})"
        return (
            "[list_aggregate([CASE WHEN n % 2 = 1 THEN list_extract(q, n) ELSE CASE list_extract(q, n)"
            f" {cases} END END FOR n IN range(1, len(q) + 1)], 'string_agg', '') FOR q IN [{pieces}]][1]"
        )

    def named(self, field: str, key: str = "_release") -> str:
        """Write a field of the release that an SQL expression names."""
        place = RELEASE_FIELDS.index(field) + 1
        return f"priv._of_release({key}, {place})"

    def unknown_release(self) -> str:
        """Write the end of the message for an unknown release."""
        return f"priv.{THERE}()"

    def quantile(self) -> str:
        """Write the normal quantile z that belongs to ``confidence``."""
        return "priv._normal_quantile(confidence)"

    def _field(self, kind: str, name: str) -> str:
        if kind == FACTS:
            return f"priv._fact({self._key}, {_place(name)})"
        place = FIELDS[kind].index(name) + 1
        return f"list_extract(string_split(priv.{kind}({self._key}), '{BETWEEN}'), {place})"

    def _between(self, every: str) -> str:
        """Write the separator of the texts of a domain."""
        plain = all(shape.plain for shape in self.shapes.values())
        return literal(BETWEEN) if plain else f"left({every}, 1)"


def _place(name: str) -> int:
    """Return the position of a field among the numbers of an attribute, from 1."""
    return FIELDS[FACTS].index(name) + 1


def _unpacked(text: str) -> str:
    """Write the list that a text encodes; ``packed`` encodes it.

    It uses no let: DuckDB 2 rejects a let inside another let that is bound for an aggregate.
    """
    return f"list_slice(string_split({text}, left({text}, 1)), 2, -2)"

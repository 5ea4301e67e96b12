"""Macros in a publisher's database that return the facts of an attribute, by release and attribute name.

The facts of all attributes are JSON texts, one for each of KINDS. DuckDB extracts a fact when it plans a query, four
times as fast as by a subquery on the catalog. Query texts are long, so each attribute has a macro for its own. The
functions' text depends only on the shapes of the attributes: the forms and a few traits. So the functions are written
again only when a release has a new shape. Numbers of a value are found by its text, not by its position: DuckDB plans
each operation of a look-up for every query.

Subqueries on the catalog do not work here. A table function takes none ("Table function cannot contain subqueries"), so
``query()`` gets its text from literals. And DuckDB would learn the form of a release only when it reads rows: the plan
would compute the aggregates of every form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from operator import itemgetter

import duckdb

from duckdb_priv.estimator.blocks import PLACES, block_facts
from duckdb_priv.estimator.forms import CONSTANTS, FORMS, form_of
from duckdb_priv.estimator.lookup import METHOD, Lookup, Shape
from duckdb_priv.estimator.release_facts import RELEASE_FIELDS, release_fields
from duckdb_priv.estimator.written import (
    listing,
    query_texts,
    there_is,
    twin_names,
    type_digest,
)
from duckdb_priv.release.model import MANY_VALUES, NUMBERS, SensitiveAttribute
from duckdb_priv.sqltext.aggregates import qualified
from duckdb_priv.sqltext.literals import SEPARATORS, exact, packed, texts
from duckdb_priv.sqltext.quoting import identifier, literal
from duckdb_priv.sqltext.templates import MARKED_ARGUMENT, body, fill, read

FOLDER = "analyst/facts"
TYPES = {"has_missing": "BOOLEAN", "size": "INTEGER", "joined": "BOOLEAN"}
"""SQL types of facts that are neither texts nor numbers."""
FACTS, NUMBERS_, LISTS, TEXTS, WORDS, RELEASES, QUERIES = (
    "_facts",
    "_numbers",
    "_lists",
    "_texts",
    "_words",
    "_releases",
    "_queries",
)
KINDS = {
    FACTS: "The form and the numbers that all values share",
    NUMBERS_: "The numbers of each value",
    LISTS: "The matrices and blocks",
    TEXTS: "The domain",
    WORDS: "The names of the column",
}
"""What the facts of each kind are, by name of the macro that finds them."""
FOUND = {**KINDS, RELEASES: "The table and the attributes of the release"}
"""The same, with the facts of a release."""
ALL = "_all"
"""Prefix of the macros that hold the facts of a kind of all attributes."""
PLACE, THERE, SHAPES, QUANTILE = "_place", "_there", "_shapes", "_normal_quantile"
LAYOUT = (tuple(KINDS), METHOD, RELEASE_FIELDS, CONSTANTS, NUMBERS, PLACES, duckdb.__version__)
"""The layout of the facts. DuckDB versions spell types with characters that are not printable differently."""
USUAL = {"two_weights": Shape("two_weights", True, True, True, frozenset(NUMBERS))}
"""Shapes of the functions before the first publication: texts, some missing, perturbed uniformly. If the first release
has this shape, with or without missing values, the functions are not written again."""


@dataclass(frozen=True)
class NamedAttribute:
    """A sensitive attribute in a publisher's database, with the names by which macros find it."""

    release: str
    name: str
    form: str
    enumerated: bool
    column: str
    """Name of its published column."""
    lower_release: str
    """Release and attribute name in lower case, as DuckDB's ``lower`` returns them."""
    lower_name: str
    namesake: bool
    """Whether a column of the release has the release's name."""

    @property
    def key(self) -> str:
        """The name that is always its own."""
        return f"{self.lower_release}.{self.lower_name}"

    @property
    def has_place(self) -> bool:
        """Whether reported values are looked up by their position in an ENUM."""
        form = FORMS[self.form]
        return self.enumerated and (form.by_record or form.blocks)

    @property
    def queries(self) -> str:
        """Return the name of the macro of its query texts."""
        return f"{QUERIES} {self.release}.{self.name}"


def shared_names() -> set[str]:
    """Return the names of the macros that are not an attribute's own."""
    kinds = {*KINDS, RELEASES}
    return {*kinds, *(ALL + kind for kind in kinds), QUERIES, PLACE, THERE, SHAPES, QUANTILE}


def known_attributes(connection: duckdb.DuckDBPyConnection) -> list[NamedAttribute]:
    """Return the attributes in the catalog, sorted by name."""
    rows = connection.execute(
        "SELECT release, attribute, form, (type = 'ENUM' AND blocks IS NULL)"
        f" OR coalesce(blocks.number, domain_size) <= {MANY_VALUES}, column_name,"
        " lower(release), lower(attribute), lower(column_name) = lower(release) FROM priv.attribute"
    ).fetchall()
    namesakes = {release for release, *_, named_like_it in rows if named_like_it}
    return [
        NamedAttribute(*(*row[:-1], row[0] in namesakes))
        for row in sorted(rows, key=itemgetter(0, 1))
        if row[2] is not None
    ]


class Facts:
    """The facts of all attributes: by kind and key, as JSON."""

    def __init__(self, of_kind: dict[str, dict[str, dict[str, object]]]) -> None:
        self._of_kind = of_kind

    @classmethod
    def kept(cls, connection: duckdb.DuckDBPyConnection) -> tuple[Facts, dict[str, Shape]]:
        """Return the facts in a database, and the shapes that its functions are written for, by form."""
        macros = ", ".join(f"priv.{name}()" for name in (*(ALL + kind for kind in KINDS), SHAPES))
        ((*every, shapes),) = connection.execute(f"SELECT {macros}").fetchall()
        read = [Shape(**{**each, "equal": frozenset(each["equal"])}) for each in json.loads(shapes)]
        facts = cls(
            {
                kind: {bytes.fromhex(key).decode(): of for key, of in json.loads(text).items()}
                for kind, text in zip(KINDS, every, strict=True)
            }
        )
        return facts, {shape.form: shape for shape in read}

    @classmethod
    def none(cls) -> Facts:
        """Return the facts of no attribute."""
        return cls({kind: {} for kind in KINDS})

    def add(
        self,
        connection: duckdb.DuckDBPyConnection,
        attribute: SensitiveAttribute,
        of: NamedAttribute,
    ) -> Iterator[str]:
        """Add the facts of an attribute, and yield the statements of its own macros."""
        ((digest,),) = connection.execute(f"SELECT {type_digest(attribute)}").fetchall()
        for name, facts in _facts_of(attribute, digest).items():
            self._of_kind[name][of.key] = facts
        queries = {
            name: MARKED_ARGUMENT.split(text) for name, text in query_texts(attribute).items()
        }
        comment = (
            f"The texts of queries of {of.release}.{of.name}, for the functions of the analyst."
        )
        yield _macro(of.queries, "", comment, literal(_json(queries)))
        if of.has_place:
            comment = "The position of what a row reports, from 0, for columns of one ENUM type."
            place = f"enum_code(TRY_CAST(_column AS {attribute.column_type}))::INTEGER"
            yield _macro(self._place(of), "_column", comment, place)

    def own_names(self, attributes: Sequence[NamedAttribute]) -> set[str]:
        """Return the names of the own macros of attributes, and of those for their types."""
        places = {self._place(of) for of in attributes if of.has_place}
        return {of.queries for of in attributes} | places

    def _place(self, of: NamedAttribute) -> str:
        return f"{PLACE} {self._of_kind[FACTS][of.key]['type']}"

    def statements(
        self, attributes: Sequence[NamedAttribute], shapes: Mapping[str, Shape]
    ) -> Iterator[str]:
        """Yield the macros that find the facts of these attributes, and keep the shapes of the functions."""
        releases: dict[str, list[NamedAttribute]] = {}
        for of in attributes:
            releases.setdefault(of.release, []).append(of)
        # Each has two names: the only attribute of a release can also be named by the release.
        names = {
            of: (of.key, of.lower_release if len(releases[of.release]) == 1 else of.key)
            for of in attributes
        }
        keys = {key: of for of in reversed(attributes) for key in names[of]}
        fields = {
            each[0].lower_release: release_fields(
                release,
                [of.name for of in each],
                [of.column for of in each if FORMS[of.form].reported],
                each[0].namesake,
            )
            for release, each in releases.items()
        }
        several = {release: {"several": of.pop("several")} for release, of in fields.items()}
        for kind in KINDS:
            every = self._of_kind[kind]
            by_key = {key: every[of.key] for key, of in keys.items()}
            yield _all(kind, {**several, **by_key} if kind == FACTS else by_key)
        yield _all(RELEASES, fields)
        own = ", ".join(f"priv.{identifier(of.queries)}()" for of in attributes)
        known = texts(key for of in attributes for key in names[of])
        number = f"(list_position({known}, lower(_key)) + 1) // 2"
        found = f"json_extract(list_extract([{own}], {number}), _names)" if own else "NULL::JSON[]"
        yield _macro(QUERIES, "_key, _names", "Some of the texts of queries, in pieces.", found)
        places = sorted({self._place(of) for of in attributes if of.has_place})
        cases = " ".join(
            f"WHEN '{name.removeprefix(PLACE)[1:]}' THEN priv.{identifier(name)}(_column)"
            for name in places
        )
        found = f"CASE priv.{FACTS}(_key, '/type') {cases} END" if places else "NULL::INTEGER"
        stated = "The position of what a row reports of the attribute that is asked for."
        yield _macro(PLACE, "_key, _column", stated, found)
        there = literal(there_is(releases))
        yield _macro(THERE, "", "The releases that there are, for people.", there)
        kept = [{**asdict(each), "equal": sorted(each.equal)} for each in shapes.values()]
        stated = "The shapes that the functions are written for."
        yield _macro(SHAPES, "", stated, literal(_json(kept)))


def _all(kind: str, facts: Mapping[str, object]) -> str:
    """Return the macro of the facts of a kind."""
    # A path of JSON has a meaning for some characters of a key, but not for hexadecimal digits.
    named = {_hex(key): of for key, of in facts.items()}
    return _macro(ALL + kind, "", f"{FOUND[kind]}, of all attributes.", literal(_json(named)))


def fixed_statements() -> Iterator[str]:
    """Yield the macros that do not depend on the releases: one finds a fact by key and name, for each kind of facts,
    and one is the normal quantile.
    """
    for kind, stated in FOUND.items():
        found = f"json_extract_string(priv.{ALL}{kind}(), concat('/', hex(lower(_key)), _name))"
        yield _macro(kind, "_key, _name", f"{stated}, of the one that is asked for.", found)
    quantile = fill(
        body(read("analyst/fragments", "normal_quantile")), {"confidence": "_confidence"}
    )
    yield qualified(fill(body(read(FOLDER, "normal_quantile")), {"quantile": quantile}))


def _facts_of(attribute: SensitiveAttribute, digest: str) -> dict[str, dict[str, object]]:
    """Return the facts of an attribute, by kind and name."""
    numbers = {name: [*map(_number, of)] for name, of in attribute.every_number.items()}
    varied = {name: of for name, of in numbers.items() if len(set(of)) > 1}
    blocks: dict[str, object] = {}
    if of := attribute.blocks:
        blocks = {**dict(zip(PLACES, block_facts(of), strict=True)), "digits": of.bits * 3}
        varied["turned"] = [of.count * 2 + of.stride * x for x in range(attribute.size)]
    values = ["" if each is None else f"v{_hex(each)}" for each in attribute.values]
    return {
        FACTS: {
            **{name: _number(number) for name, number in attribute.constants.items()},
            "form": attribute.form,
            "has_missing": attribute.has_missing,
            "size": attribute.size,
            "joined": form_of(attribute).joined,
            "type": digest,
            **{name: of[0] for name, of in numbers.items() if len(set(of)) == 1},
        },
        NUMBERS_: {
            value: {name: of[position] for name, of in varied.items()}
            for position, value in enumerate(values)
            if varied
        },
        LISTS: {**attribute.encoded, **blocks},
        TEXTS: {"texts": packed(value for value in attribute.values if value is not None)},
        WORDS: {
            "column": attribute.column,
            "listing": listing(attribute.values),
            "twins": packed(twin_names(attribute)),
        },
    }


def _number(number: float) -> float | str:
    """Return a number for JSON, which has no infinity."""
    return float(number) if isfinite(number) else repr(float(number))


def _hex(text: str) -> str:
    return text.encode().hex().upper()


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _macro(macro: str, arguments: str, comment: str, content: str) -> str:
    places = {
        "macro": identifier(macro),
        "arguments": arguments,
        "comment": literal(comment),
        "content": content,
    }
    return qualified(fill(body(read(FOLDER, "macro")), places))


class Stored(Lookup):
    """A lookup that calls these macros."""

    def __init__(
        self, shapes: Mapping[str, Shape], key: str = "_release", *, every: bool = True
    ) -> None:
        self.shapes, self._key, self._every = shapes, key, every

    def among(self, *forms: str) -> Stored:
        """Return the lookup restricted to attributes of some forms."""
        every = self._every and set(forms) == set(self.shapes)
        return Stored({form: self.shapes[form] for form in forms}, self._key, every=every)

    def by_key(self, key: str) -> Stored:
        """Return the lookup of the attribute named by an SQL expression of the form 'release.attribute'."""
        return Stored(self.shapes, key, every=self._every)

    def is_here(self) -> str:
        """Write the condition that the requested attribute is one of these."""
        if not self.shapes:
            return "NULL::BOOLEAN"
        if self._every:
            return f"({self._fact(FACTS, 'form')} IS NOT NULL)"
        among = ", ".join(map(literal, self.shapes))
        return f"({self._fact(FACTS, 'form')} {f'= {among}' if len(self.shapes) == 1 else f'IN ({among})'})"

    def fact(self, name: str) -> str:
        """Write one of ATTRIBUTE_FACTS."""
        if name == "has_missing" and not any(shape.has_missing for shape in self.shapes.values()):
            return "false"
        if name in TYPES:
            return f"CAST({self._fact(FACTS, name)} AS {TYPES[name]})"
        every = self._fact({"texts": TEXTS, "type": FACTS}.get(name, WORDS), name)
        if name == "twins":
            return f"list_slice(string_split({every}, left({every}, 1)), 2, -2)"
        if name == "texts":
            return f"list_slice(string_split({every}, {self._between(every)}), 2, -2)"
        return every

    def is_value(self, text: str) -> str:
        """Write the condition that a text is a value of the domain."""
        every = f"CAST({self._fact(TEXTS, 'texts')} AS VARCHAR)"
        between, text = self._between(every), exact(text)
        # Without the casts, DuckDB 1.5 does not know the type of a NULL.
        enclosed = f"CAST({between} || {text} || {between} AS VARCHAR)"
        return f"(contains({every} COLLATE C, {enclosed}) AND NOT contains({text}, {between}))"

    def number(self, name: str, position: str) -> str:
        """Write one number of the value at a position in the domain."""
        return (
            self.constant(name)
            if self._is_equal(name)
            else f"list_extract({self.numbers(name)}, {position})"
        )

    def number_of_value(self, name: str, position: str) -> str:
        """Write one number of the value that is asked for."""
        if self._is_equal(name):
            return self.constant(name)
        return f"TRY_CAST(coalesce({self._of_value(name)}, {self._fact(FACTS, name)}) AS DOUBLE)"

    def numbers(self, name: str) -> str:
        """Write the list of one number for all values."""
        equal = f"list_resize([]::DOUBLE[], {self.size()}, {self.constant(name)})"
        if self._is_equal(name):
            return equal
        every = f"json_extract(priv.{ALL}{NUMBERS_}(), concat('$.\"', hex(lower({self._key})), '\".*.{name}'))"
        return f"coalesce(nullif(TRY_CAST({every} AS DOUBLE[]), []), {equal})"

    def _of_value(self, name: str) -> str:
        return f"priv.{NUMBERS_}({self._key}, concat('/', 'v' || hex(CAST(_value AS VARCHAR)), '/{name}'))"

    def encoded(self, name: str) -> str:
        """Write one of MATRICES as a list of encoded rows."""
        return f"string_split({self._fact(LISTS, name)}, '|')"

    def constant(self, name: str) -> str:
        """Write a constant of the release."""
        return f"TRY_CAST({self._fact(FACTS, name)} AS DOUBLE)"

    def place(self) -> str:
        """Write the position of a row's reported value in the domain, or of its block among all blocks, from 0."""
        return f"priv.{PLACE}({self._key}, _column)"

    def blocks(self) -> Mapping[str, str]:
        """Return the facts of the blocks that rows report, by their names in blocks.PLACES."""
        *names, bits = PLACES
        found = {name: f"CAST({self._fact(LISTS, name)} AS INTEGER)" for name in names}
        if all(shape.enumerated for shape in self.shapes.values()):
            # A position in an ENUM is the number of a block.
            found["mask"] = "-1"
        turned = f"CAST({self._of_value('turned')} AS INTEGER)"
        digits = f"CAST(right({self._fact(LISTS, 'digits')}, {turned}) AS BIT)"
        return {**found, bits: self._fact(LISTS, bits), "digits": digits}

    def query(self, arguments: Mapping[str, str], *parts: str) -> str:
        """Write the text of a query from its parts, with the arguments of the call filled in."""
        cases = " ".join(f"WHEN '{each}' THEN {sql}" for each, sql in arguments.items())
        names = ", ".join(
            "concat('/', method)" if part == METHOD else f"'/{part}'" for part in parts
        )
        return (
            "list_aggregate([list_aggregate([CASE WHEN n % 2 = 1 THEN list_extract(q, n) ELSE CASE list_extract(q, n)"
            f" {cases} END END FOR n IN range(1, len(q) + 1)], 'string_agg', '')"
            f""" FOR q IN [from_json(part, '["VARCHAR"]') FOR part IN priv.{QUERIES}({self._key}, [{names}])]],"""
            " 'string_agg', '')"
        )

    def named(self, field: str, key: str = "_release") -> str:
        """Write a field of the release that an SQL expression names."""
        return f"priv.{FACTS if field == 'several' else RELEASES}({key}, '/{field}')"

    def unknown_release(self) -> str:
        """Write the end of the message for an unknown release."""
        return f"priv.{THERE}()"

    def quantile(self) -> str:
        """Write the normal quantile z that belongs to ``confidence``."""
        return f"priv.{QUANTILE}(confidence)"

    def _fact(self, kind: str, name: str) -> str:
        return f"priv.{kind}({self._key}, '/{name}')"

    def _is_equal(self, name: str) -> bool:
        """Whether a number is the same for all values of each attribute."""
        return all(name in shape.equal for shape in self.shapes.values())

    def _between(self, every: str) -> str:
        """Write the separator of the texts of a domain."""
        plain = all(shape.plain for shape in self.shapes.values())
        return literal(SEPARATORS[0]) if plain else f"left({every}, 1)"

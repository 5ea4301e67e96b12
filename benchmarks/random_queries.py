"""Asks random ordinary queries by three doors, and compares their answers with each other and with the true table.

Every mechanism publishes the same records with several secrets. ``duckdb_priv.reconstruct`` answers each query
without and with intervals, and ``USE estimated`` without Python. ``tests/ordinary/shapes.sql`` has the shapes.

    PYTHONPATH=.:tests python benchmarks/random_queries.py --folder FOLDER [--queries 125] [--write] [HOW ...]

The folder keeps the answers of each publication, so you may run the mechanisms one by one.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from ordinary.conftest import LOOK_UP, VIEWS, WARDS
from ordinary.releases import DISEASES, EVEN, VISITS, publish
from ordinary.shapes import LINEAR, Shapes
from ordinary_sql import Figure

import duckdb_priv
from duckdb_priv.errors import QueryRefused
from duckdb_priv.ordinary.quantiles import BETWEEN

RESULTS = Path(__file__).parent / "results" / "RANDOM_QUERIES.md"
MECHANISMS = {
    "two_weights": "uniform",
    "two_attributes": "uniform, two attributes",
    "rank_one": "fine grain",
    "operator": "matrix",
    "scaled": "reconstruction private",
    "two_by_two": "splu",
    "by_group": "shuffled",
    "blocks": "block design",
}
"""Names of mechanisms by the release of ``tests/ordinary/releases.py``."""
DOORS = {
    "reconstruct": "`reconstruct`",
    "intervals": "`reconstruct`, intervals",
    "estimated": "`USE estimated`",
}
NEAR, LARGE = 1e-9, 1e4
"""How near two answers must be, relative to a sum of this size: terms of sums are larger than their total."""
ENDS = ("_stderr", "_low", "_high")
FAR = 6
"""Standard errors by which few estimates are off."""
FOREIGN = re.compile(r"_priv_(?!text)|sqlglot|Traceback|INTERNAL|Catalog Error|Parser Error")
"""Matches words in a refusal that are not ours."""
OWN_VIEW = re.compile(r"main\.(adults|ill)\b")
"""Matches the reader's own views, which the schema estimated does not know."""
NUMBERS = re.compile(r"-?\d+(\.\d+)?")
HEAD = """# Random queries by three doors

`benchmarks/random_queries.py --write` asks {queries} random queries of each of {publications} publications:
{mechanisms} mechanisms, each with {secrets} secrets, of 3,000 records. The shapes are written from docs/sql.md
alone. One kind in 23 has questions that the page refuses.

Answers of the second and third door are compared with those of the first, to a relative difference of 1e-9.
Differences of the third are those that docs/sql.md names: subtotals by public columns, and public columns beside an
attribute in a release of `publish_splu`, are estimates there. It rounds weights, so a quotient by a count below one
may differ by a little more.
A foreign error has the words of DuckDB, sqlglot or Python.

"""


Row = tuple[Any, ...]
Matches = Callable[[Row, Row], bool]


@dataclass
class Asked:
    """What the doors answered to the queries of one publication."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By door: how many queries had which outcome."""
    findings: list[tuple[str, str, str]] = field(default_factory=list)
    """An outcome, the door and the query, and details."""
    errors: dict[str, list[list[float]]] = field(default_factory=lambda: defaultdict(list))
    """By kind of query: for each query, its errors in standard errors."""

    def note(self, door: str, outcome: str, query: str, details: object) -> None:
        """Count an outcome and keep the query."""
        self.counts[door][outcome] += 1
        self.findings.append((outcome, f"{door} {query}", str(details)))

    def compare(
        self, door: str, query: str, found: list[Row], plain: list[Row], matches: Matches
    ) -> None:
        """Note whether a door answers as ``reconstruct`` does without intervals."""
        if off := differences(found, plain, matches):
            self.note(door, "differing", query, off[:4])


def same(found: Any, right: Any) -> bool:
    """Whether two values are the same, but for rounding."""
    if isinstance(found, list | tuple) and isinstance(right, list | tuple):
        return len(found) == len(right) and all(map(same, found, right))
    if isinstance(found, dict) and isinstance(right, dict):
        return found.keys() == right.keys() and all(map(same, found.values(), right.values()))
    if is_number(found) and is_number(right):
        one, two = float(found), float(right)
        both_nan = math.isnan(one) and math.isnan(two)
        return both_nan or math.isclose(one, two, rel_tol=NEAR, abs_tol=NEAR * LARGE)
    if isinstance(found, str) and isinstance(right, str):
        # Numbers within texts are rounded in other places.
        return NUMBERS.sub("", found) == NUMBERS.sub("", right)
    return bool(found == right)


def is_number(value: Any) -> bool:
    """Whether a value is a number and not a truth value."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def same_or_null(found: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether two rows are the same; without Python, sums and means of no estimated record may be NULL."""
    return len(found) == len(right) and all(
        same(one, two) or (one is None and is_number(two))
        for one, two in zip(found, right, strict=True)
    )


def differences(found: list[Row], right: list[Row], matches: Matches) -> list[Row]:
    """List the rows that only one of two answers has."""
    rest, missing = list(found), []
    for row in right:
        each = next((other for other in rest if matches(other, row)), None)
        if each is None:
            missing.append(row)
        else:
            rest.remove(each)
    return [*rest, *missing]


def errors_of(
    names: Sequence[str], rows: list[Row], true: Mapping[str, Mapping[str, Any]], linear: bool
) -> Iterator[float]:
    """Yield (estimate - truth) / standard error of every estimate that has one, cut at 8."""
    for row in rows:
        given = dict(zip(names, row, strict=True))
        truth = true.get(keys_of(given), {})
        for name in [each.removesuffix("_stderr") for each in names if each.endswith("_stderr")]:
            estimate, spread = given[name], given[f"{name}_stderr"]
            value = truth.get(name) if not linear else truth.get(name) or 0
            if spread and spread > NEAR and is_number(value) and not math.isnan(value):
                yield max(-8.0, min(8.0, (float(estimate) - float(value)) / spread))


def keys_of(row: Mapping[str, Any]) -> str:
    """Return the keys of a row as a text."""
    return str([value for name, value in row.items() if name[0] == "k" and "_" not in name])


def connections(
    path: Path, form: str, attributes: tuple[str, ...]
) -> list[duckdb.DuckDBPyConnection]:
    """Open a release to ask by Python, the same to ask by the schema estimated, and the true table."""
    release, without_python, truth = (duckdb.connect() for _ in range(3))
    for each in (release, without_python):
        each.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
    for each in (release, without_python, truth):
        each.execute(LOOK_UP)
        each.execute(WARDS)
    truth.execute(VISITS.format(rows=3000, disease=DISEASES.get(form, EVEN)))
    left_out = "id" if "dose" in attributes else "id, dose"
    truth.execute(f"CREATE TABLE visits AS SELECT * EXCLUDE ({left_out}) FROM source")
    release.execute("USE r")
    without_python.execute("USE r.estimated")
    for view in VIEWS:
        release.execute(view)
        truth.execute(view)
    return [release, without_python, truth]


def ask(folder: Path, form: str, number: int, queries: int) -> Asked:
    """Ask random queries of one publication by all doors."""
    place = folder / str(number)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{form}.duckdb"
    if not path.exists():
        publish(place, form, secret=bytes(range(number, number + 32)))
    attributes = ("disease", "dose") if form == "two_attributes" else ("disease",)
    release, without_python, truth = connections(path, form, attributes)
    drawn = Shapes(100 * number + list(MECHANISMS).index(form), attributes)
    asked = Asked()
    for _ in range(queries):
        kind, query = drawn.draw()
        truth.execute("BEGIN")
        try:
            found = truth.execute(query)
            names, true = [name for name, *_ in found.description], found.fetchall()
        except duckdb.Error:
            asked.counts["true table"]["refused"] += 1
            continue
        finally:
            truth.execute("ROLLBACK")
        asked.counts["true table"]["answered"] += 1
        answers = {
            door: answer
            for door in DOORS
            if (answer := answered(asked, door, kind, query, release, without_python)) is not None
        }
        if "reconstruct" not in answers or query.startswith("EXPLAIN"):
            continue
        plain = answers["reconstruct"][1]
        if "estimated" in answers:
            asked.compare(
                "estimated", f"{kind}: {query}", answers["estimated"][1], plain, same_or_null
            )
        if "intervals" in answers:
            shown, rows = answers["intervals"]
            kept = [place for place, name in enumerate(shown) if not name.endswith(ENDS)]
            beside = [tuple(row[each] for each in kept) for row in rows]
            asked.compare("intervals", f"{kind}: {query}", beside, plain, same)
            right = [dict(zip(names, row, strict=True)) for row in true]
            by_keys = {keys_of(row): row for row in right}
            if len(by_keys) == len(right):
                errors = [*errors_of(shown, rows, by_keys, kind in LINEAR)]
                asked.errors[kind] += [errors] if errors else []
                if errors and max(map(abs, errors)) > FAR:
                    asked.note("intervals", "far", f"{kind}: {query}", max(errors, key=abs))
    return asked


def answered(
    asked: Asked,
    door: str,
    kind: str,
    query: str,
    release: duckdb.DuckDBPyConnection,
    without_python: duckdb.DuckDBPyConnection,
) -> tuple[list[str], list[Row]] | None:
    """Ask by one door; return the names and the rows of the answer, or note why there is none."""
    if door == "estimated" and OWN_VIEW.search(query):
        return None
    try:
        if door == "estimated":
            found = without_python.execute(query)
        else:
            found = duckdb_priv.reconstruct(release, query, intervals=door == "intervals")
        rows = found.fetchall()
    except (QueryRefused, duckdb.InvalidInputException) as refused:
        text = str(refused)
        ours = isinstance(refused, QueryRefused) or "estimated: " in text or BETWEEN in text
        outcome = "foreign" if not ours or FOREIGN.search(text) else "refused"
        asked.note(door, outcome, f"{kind}: {query}", text)
        return None
    except Exception as error:
        asked.note(door, "foreign", f"{kind}: {query}", repr(error))
        return None
    asked.counts[door]["answered"] += 1
    return [name for name, *_ in found.description], rows


def lines_of(results: Mapping[tuple[str, int], Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the tables of the results."""
    yield "| | answered | refused | foreign errors | differing |"
    yield "| -- | -- | -- | -- | -- |"
    for door, name in {"true table": "the true table", **DOORS}.items():
        total: Counter[str] = Counter()
        for each in results.values():
            total.update(each["counts"].get(door, {}))
        numbers = [
            f"{total[outcome]:,}" for outcome in ("answered", "refused", "foreign", "differing")
        ]
        yield f"| {' | '.join([name, *numbers])} |"
    yield ""
    yield "Mean errors in standard errors, cut at 8, with their standard errors over publications:"
    yield ""
    yield "| queries | asked | mean z |"
    yield "| -- | -- | -- |"
    by: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for number, ((form, _), each) in enumerate(results.items()):
        for kind, errors in each["errors"].items():
            for place, some in enumerate(errors):
                mean = float(np.mean(some))
                by["all"][number, len(by["all"])] = mean
                by[MECHANISMS[form]][number, len(by[MECHANISMS[form]])] = mean
                by[f"kind: {kind}"][number, place] = mean
    for name, found in sorted(by.items()):
        figure = Figure.of(found)
        yield f"| {name} | {len(found):,} | {figure.value:+.3f} ± {figure.error:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--queries", type=int, default=125)
    parser.add_argument("--secrets", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write the tables of the results")
    parser.add_argument("mechanisms", nargs="*", default=list(MECHANISMS))
    given = parser.parse_args()
    results = {}
    for number in given.secrets:
        for form in given.mechanisms or MECHANISMS:
            kept = given.folder / f"{form}_{number}_{given.queries}.json"
            if not kept.exists():
                asked = ask(given.folder, form, number, given.queries)
                kept.write_text(json.dumps(vars(asked)), "utf-8")
            results[form, number] = json.loads(kept.read_text("utf-8"))
            print(form, number, results[form, number]["counts"], flush=True)
    lines = [*lines_of(results)]
    print("\n".join(lines))
    if given.write:
        head = HEAD.format(
            queries=given.queries,
            publications=len(results),
            mechanisms=len(given.mechanisms or MECHANISMS),
            secrets=len(given.secrets),
        )
        RESULTS.write_text(head + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()

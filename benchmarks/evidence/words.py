"""What was found, as a page: each number with what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.evidence.releases import CALLS

PAGE = """\
# What others' tools say

Written by `python -m benchmarks.evidence --data FOLDER --write`, with {tools}. Releases of Adult ({rows:,} people,
of whom a tenth is kept aside), with age by decades, gender and education public and occupation sensitive (14 values),
by each mechanism at ordinary parameters (`benchmarks/evidence/releases.py`). With so few people the noise is large:
these numbers compare, and none is what a larger table would show. These tools know nothing of how a release was made:
they take it for a table of people. Where a row shows several values (Anatomy, codes of blocks), they are given one
of them, drawn at random.

## Attacks: anonymeter

{attacks} attacks of each kind on people of the release, and as many on people who were kept aside. *Rates* are
those of success, on people of the release and on the others. *Risk* is how much more often an attack succeeds on
those of the release, of what was left to gain: (attack - control) / (1 - control), with its 95% interval. An attack
that succeeds as often on people of whom the release knows nothing learns something of people in general, not of
these. Rates are anonymeter's, by Wilson: of 100 attacks, .02 stands for none, .98 for all.

- *Inference*: who knows a person's public columns guesses the occupation from the most similar published row. At best
  a guess is right as often as such a row shows the truth.
- *Linkability*: one list has decade and education, another gender and occupation; the attack tells which entries are
  the same person's.
- *Singling out*: the attack makes up conditions on all columns that fit one published row, and wins where they fit
  one person.

| mechanism | inference: rates | risk | linkability: rates | risk | singling out: rates | risk |
|---|---|---|---|---|---|---|
{attack_rows}

Read the first row first: it is the table itself, unprotected. Inference and linkability find next to nothing even
there, since many people share public columns as coarse as these, and the most similar row is someone else's. So
what these two say of the releases is no evidence of protection. What a single row tells is bounded by what a
mechanism promises.

Singling out succeeds nearly always on the table itself, and about every other time on the releases: conditions that
name the occupation fail, those on public columns alone do not. It stays, whatever is done to the occupation. What
helps is in the choice of public columns: fewer or coarser ones (`public := […]`; `priv.check_source` names those that
single people out), or `priv.publish_safe_k`, which hides who is there (here with decade and education left out,
`any`).

## Classes: pycanon

The smallest class of rows that are equal in public columns (k), the fewest values of occupation in a class (l), and
how far the occupations of a class are from those of all (t), as pycanon has them. These measures read what is shown
as if it were true. Only `safe_k` promises a k; for the others 1 says that someone is unique in the public columns,
and then l is 1 and t near 1, whatever is shown there. A value that is shown by chance reveals nobody, and these
measures cannot know it: they report public columns here, not of mechanisms.

| mechanism | k | l | t |
|---|---|---|---|
{class_rows}

## Likeness: sdmetrics

1 less the distance of total variation between the true table and another: 1 is equal, for occupations alone and for
occupations by gender. *As shown* takes reported values for true ones, which is the mistake that releases warn of.
*Rebuilt* is a table with as many rows of each kind as are estimated; estimates below 0 are cut off there, since a
table cannot have fewer than no rows, which costs likeness where there are many small counts.

| mechanism | as shown: alone | by gender | rebuilt: alone | by gender |
|---|---|---|---|---|
{likeness_rows}

## Accounting: dp-accounting

The operator is taken from the release itself: it is the inverse of the weights that `priv.weight` gives. Its privacy
loss distribution must have the epsilon that the release promises, up to the steps of .001 in which dp-accounting
rounds. `fine_grain` promises .1 more than its operator has: that is what it spends on the frequencies that it is made
from. Two looks are two releases of the same records with noise of their own, at a delta of 1e-6; the ledger charges
them twice the epsilon, and dp-accounting finds about as much.

| mechanism | promised epsilon | one look | two looks |
|---|---|---|---|
{accounting_rows}

## Guessing games

As LDP-Auditor (Arcolezi and Gambs, 2023) plays them, of our own making: {records:,} records with one value and as
many with another are published, and someone who sees a row guesses which it was. *Proven* is the epsilon that the
guesses prove, with 99% confidence. `shuffled` promises this to a record whose row is known, and much less epsilon to
one among others. A proof above the promise would refute it; one just below shows that the promise is no idle one. For
a code of blocks, a sign of the one value is a block that has it and not the other.

| mechanism | promised epsilon | proven |
|---|---|---|
{game_rows}
"""


def page(
    measured: Sequence[Mapping[str, Any]],
    games: Mapping[str, tuple[float, float]],
    tools: Mapping[str, str],
    rows: int,
    attacks: int,
    records: int,
) -> str:
    """Write all tables."""
    return PAGE.format(
        tools=", ".join(each.replace("==", " ") for each in tools.values()),
        rows=rows,
        attacks=attacks,
        records=records,
        attack_rows=lines(
            [
                name(each),
                *(
                    cell
                    for kind in ("inference", "linkability", "singling out")
                    for cell in attack(each["attacks"][kind])
                ),
            ]
            for each in measured
        ),
        class_rows=lines(
            [name(each), each["classes"]["k"], each["classes"]["l"], f"{each['classes']['t']:.2f}"]
            for each in measured
        ),
        likeness_rows=lines(
            [
                name(each),
                *(
                    f"{each['likeness'][table][what]:.3f}"
                    for table in ("release", "rebuilt")
                    for what in ("alone", "pair")
                ),
            ]
            for each in measured
        ),
        accounting_rows=lines(
            [
                name(each), f"{each['promised']:.4f}",
                f"{each['accounting']['one']:.4f}", f"{each['accounting']['two']:.4f}",
            ]
            for each in measured
            if "accounting" in each
        ),
        game_rows=lines(
            [mechanism, f"{promised:.3f}", f"{proven:.3f}"]
            for mechanism, (promised, proven) in games.items()
        ),
    )  # fmt: skip


def name(found: Mapping[str, Any]) -> str:
    """Name a mechanism as SQL does."""
    called = found["mechanism"]
    return f"`{called}`" if called in CALLS else called


def attack(found: Mapping[str, float]) -> tuple[str, str]:
    """Write rates of success, and the risk with its interval."""
    return (
        f"{found['attack']:.3f}, {found['control']:.3f}",
        f"{found['risk']:.3f} ({found['low']:.3f} to {found['high']:.3f})",
    )


def lines(rows: Any) -> str:
    """Write rows of a table."""
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)

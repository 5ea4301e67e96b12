"""Records that are not in a release: how many, as a noisy count, so that readers know what counts are of.

``max_rows`` leaves out what a person has beyond it, and records of a later version can wait until others are there to
be grouped with. The noise is keyed: the same number of the same publication shows the same, and cannot be averaged.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from duckdb_priv.engine import randomness
from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism.discrete_laplace import Bits, laplace_count, secure_bits
from duckdb_priv.release.model import Guarantee, to_json
from duckdb_priv.release.request import Request

NAME = "records_left_out"
"""The guarantee that says how many records are not here."""
EPSILON = 0.1
"""Of the noise: one record more or less changes the count by one."""
REACH = math.ceil(math.log(20) / EPSILON)
"""What the noise stays within, 95 times of 100."""


def records_left_out(
    workspace: Workspace, request: Request, plan: Plan, whole: Source, entering: Source
) -> list[Guarantee]:
    """State how many records are not in a release, where some may be missing and their number may be known.

    ``whole`` are all records of the source, ``entering`` those that ``max_rows`` leaves.
    """
    if plan.sample or (request.max_rows is None and not plan.left_out):
        return []
    limited, waiting = whole.rows - entering.rows, plan.left_out or 0
    context = to_json(
        {
            "purpose": "records left out",
            "release": request.release.lower(),
            "counts": [limited, waiting],
            "epsilon": EPSILON,
        }
    )
    counts = np.array([limited, waiting])
    noisy = laplace_count(counts, EPSILON, _bits(workspace, request, context)).tolist()
    reasons = []
    if request.max_rows is not None:
        reasons.append(
            f"{_about(noisy[0])} are not here, since at most {request.max_rows} of each person were taken"
        )
    if waiting:
        reasons.append(
            f"{_about(noisy[1])} are not here yet, since there are too few others to group them with"
        )
    total = sum(max(0, each) for each in noisy[: 1 + bool(waiting)])
    return [
        Guarantee(
            NAME,
            f"{' and '.join(reasons)}. Every count is of the records that are here.",
            value=float(total),
            parameters={"epsilon": EPSILON, "max_rows": request.max_rows, "within": REACH},
        )
    ]


def _bits(workspace: Workspace, request: Request, context: str) -> Bits:
    """Return what the noise is drawn from: the secret, as of the records; new bits where records have no id."""
    if not request.record_id:
        return secure_bits
    words, streams = randomness.KeyedWords.derive(workspace.secret(), context), itertools.count()
    return lambda count: words(next(streams), count)


def _about(count: int) -> str:
    """Write a noisy count.

    >>> _about(6129), _about(-3)
    ('About 6,129 records (give or take 30)', 'Few records or none (30 at most)')
    """
    if count <= 0:
        return f"Few records or none ({REACH} at most)"
    return f"About {count:,} records (give or take {REACH})"


def warnings_of_absence(plan: Plan, whole: Source, entering: Source) -> list[str]:
    """Say to the publisher how many records are left out."""
    limited = whole.rows - entering.rows
    found = []
    if limited:
        found.append(
            f"max_rows leaves out {limited:,} of {whole.rows:,} records: every count is of the others; a larger"
            " max_rows leaves out fewer, and a noisy count of them is in the release"
        )
    if plan.left_out and not plan.sample:
        found.append(
            f"{plan.left_out:,} of {entering.rows:,} records wait for others to be grouped with: every count is of the"
            " rest; publishing with replace := true groups all records again"
        )
    return found

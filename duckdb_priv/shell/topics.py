"""Writes the text of .help: dot commands and functions of the schema priv, grouped by task."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

NARROWEST = 60
"""The smallest width to which text is wrapped."""
INDENT = 4
UNSEEN = 100
"""The width of text that is not printed on a terminal."""


@dataclass(frozen=True)
class Topic:
    """A task, and the names of the functions for it. A name may be a pattern with a star."""

    title: str
    names: tuple[str, ...]
    brief: bool = False
    """Whether .help lists only names here; .help NAME then describes the function."""


BASELINES = "Compare with methods that do not protect (baselines)"
TOPICS = (
    Topic(
        "Look before publishing",
        (
            "check_source",
            "advise",
            "workload",
            "budget",
            "micro_groups",
            "fine_grain_plan",
        ),
    ),
    Topic("Publish", ("publish_*", "derive")),
    Topic(BASELINES, ("publish_anatomy", "publish_distribution")),
    Topic(
        "Check what was published",
        ("audit", "ledger", "compare", "evaluat*", "*_utility", "ratio_attack", "*_risk"),
    ),
    Topic(
        "Hand out and keep alive",
        ("export_release", "refresh", "publications", "withdraw", "drop_release", "rotate_secret"),
    ),
    Topic(
        "Count on a release",
        (
            "reconstructed_*",
            "weight",
            "smoothed_count",
            "*_difference",
            "*_ratio",
            "*_share",
            "*_mean",
            "*_sum",
        ),
    ),
    Topic("Hierarchies for safe k-anonymity", ("*hierarch*",)),
    Topic("Calculators (.help NAME …)", ("*",), brief=True),
)
"""The topics in the order of .help. A function belongs to the topic with its full name, else to the first that fits."""
COMMANDS = "Commands of the shell"


def topic_of(name: str) -> str:
    """Return the title of the topic under which a function is listed.

    >>> topic_of("publish_uniform"), topic_of("publish_anatomy"), topic_of("ldp_epsilon")
    ('Publish', 'Compare with methods that do not protect (baselines)', 'Calculators (.help NAME …)')
    """
    spelled = (topic.title for topic in TOPICS if name in topic.names)
    fitting = (
        topic.title for topic in TOPICS if any(fnmatchcase(name, each) for each in topic.names)
    )
    return next(spelled, None) or next(fitting)


def grouped(
    commands: Sequence[tuple[str, str]], functions: Iterable[tuple[str, str]], width: int | None
) -> str:
    """Write dot commands and functions with their meanings under their topics.

    >>> print(grouped([(".quit", "Leave")], [("audit", "Recompute every guarantee.")], 60), end="")
    Check what was published
        priv.audit  Recompute every guarantee.
    <BLANKLINE>
    Commands of the shell
        .quit  Leave
    """
    entries: dict[str, list[tuple[str, str]]] = {topic.title: [] for topic in TOPICS}
    for name, meaning in functions:
        entries[topic_of(name)].append((f"priv.{name}", meaning))
    several = sum(map(bool, entries.values())) > 1
    blocks = [
        f"{topic.title}\n"
        + (names if topic.brief and several else aligned)(entries[topic.title], width)
        for topic in TOPICS
        if entries[topic.title]
    ]
    if commands:
        blocks.append(f"{COMMANDS}\n{aligned(commands, width)}")
    return "\n".join(blocks)


def names(entries: Sequence[tuple[str, str]], width: int | None) -> str:
    """Write only the names, separated by commas.

    >>> names([("priv.a", "One."), ("priv.b", "Two.")], 80)
    '    priv.a, priv.b\\n'
    """
    indent = " " * INDENT
    listed = ", ".join(name for name, _ in entries)
    return (
        textwrap.fill(
            listed,
            max(width or UNSEEN, NARROWEST),
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        + "\n"
    )


def aligned(entries: Sequence[tuple[str, str]], width: int | None) -> str:
    """Write names and meanings in two columns, wrapped to the width between words.

    >>> print(aligned([(".quit", "Leave"), (".read FILE", "Run")], None), end="")
        .quit       Leave
        .read FILE  Run
    """
    column = INDENT + max(len(usage) for usage, _ in entries) + 2
    room = max(width or 0, NARROWEST)
    lines = []
    for usage, meaning in entries:
        head = f"{' ' * INDENT}{usage}".ljust(column)
        if width is None:
            lines.append(f"{head}{meaning}".rstrip())
        else:
            lines += textwrap.wrap(
                meaning,
                room,
                initial_indent=head,
                subsequent_indent=" " * column,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [head.rstrip()]
    return "".join(f"{line}\n" for line in lines)

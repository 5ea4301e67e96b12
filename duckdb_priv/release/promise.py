"""Words guarantees as factors of odds, and marks those that promise next to nothing.

One noisy value changes the odds between two true values by a factor of at most exp(epsilon). All publications about a
person compose: epsilon adds up over the sensitive columns and the records of the person.
"""

from __future__ import annotations

import math

VALUE, PERSON = 5.0, 10.0
"""The epsilon above which a guarantee promises next to nothing: for one noisy value, and for a person."""
READABLE = math.log(1e6)
"""The largest epsilon whose factor is written as a number."""
NOTHING = "promises next to nothing"


def factor(epsilon: float) -> str:
    """Write the factor exp(epsilon), rounded up.

    >>> factor(math.log(9)), factor(1.0), factor(8.789), factor(20.0)
    ('at most 9', 'at most 2.719', 'at most 6,562', 'more than a million')
    """
    if not epsilon <= READABLE:
        return "more than a million"
    number = math.exp(epsilon)
    digits = max(3 - math.floor(math.log10(number)), 0)
    number = math.ceil(number * 10**digits * (1 - 1e-9)) / 10**digits
    return (
        f"at most {number:,.{digits}f}".rstrip("0").rstrip(".")
        if digits
        else f"at most {number:,.0f}"
    )


def sure_of(epsilon: float) -> str:
    """Write the largest posterior of someone with a prior of one half.

    >>> sure_of(math.log(9)), sure_of(20.0)
    ('90%', 'more than 99.9%')
    """
    share = 1 / (1 + math.exp(-min(epsilon, 700.0)))
    return "more than 99.9%" if share >= 0.9995 else f"{math.ceil(1000 * share - 1e-6) / 10:g}%"


def weak(epsilon: float, limit: float = VALUE) -> str:
    """Return the closing sentence of a guarantee whose epsilon exceeds the limit; otherwise an empty text.

    >>> weak(2.0), weak(7.0), weak(7.0, PERSON)
    ('', ' That promises next to nothing.', '')
    """
    return "" if epsilon <= limit else f" That {NOTHING}."


def of_value(attribute: str, epsilon: float, what: str = "noisy value", more: str = "") -> str:
    """Write the guarantee for one published value of an attribute; ``what`` is the noun for the value.

    >>> print(of_value("disease", math.log(9)))
    From one noisy value alone: whatever was known before, the odds between two true values of disease change by a factor of at most 9 (epsilon = 2.197).
    """  # noqa: E501
    return (
        f"From one {what} alone: whatever was known before, the odds between two true values of {attribute} change"
        f" by a factor of {factor(epsilon)} (epsilon = {epsilon:.4g}){more}.{weak(epsilon)}"
    )


def of_person(
    epsilon: float, delta: float, records: int, columns: int, *, known: bool, to: str = ""
) -> str:
    """Write the guarantee for all published values of one person, with their total ``epsilon`` and ``delta``.

    ``known`` says whether the number of records of a person was counted. ``to`` names the adversary.

    >>> print(of_person(4 * math.log(9), 0.0, 2, 2, known=True))
    All that is published of one person, 2 noisy values in each of up to 2 records, changes the odds between any two truths about the person by a factor of at most 6,561 (epsilon = 2 x 4.394 = 8.789).
    """  # noqa: E501
    each = "1 noisy value" if columns == 1 else f"{columns} noisy values"
    sum_of = (
        f"{records} x {epsilon / records:.4g} = {epsilon:.4g}" if records > 1 else f"{epsilon:.4g}"
    )
    shown = f"{each} in each of up to {records} records" if records > 1 else f"{each} in one record"
    return (
        f"All that is published of one person, {shown}, changes the odds between any two truths about the person by a"
        f" factor of {factor(epsilon)} (epsilon = {sum_of}){to}"
        + (f", but for delta = {delta:.3g}." if delta else ".")
        + ("" if known else " Each further record of the person adds as much.")
        + weak(epsilon, PERSON)
    )

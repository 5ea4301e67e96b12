"""Computes every number again that a derivation states.

    python -m benchmarks.derivations [DOCUMENT ...]

A derivation is a `.md` file in `duckdb_priv/mechanism/`. For each, this program prints the phrases and table lines that
state numbers, with the numbers computed now. `tests/unit/test_derivations.py` checks that the document contains exactly
these.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from duckdb_priv.mechanism import decoy_groups as mixing
from duckdb_priv.mechanism import operator as operators
from duckdb_priv.mechanism import questions, two_looks
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.mechanism.composition import EpsilonDelta
from duckdb_priv.mechanism.conditional_poisson import ConditionalPoisson
from duckdb_priv.mechanism.determination import chance
from duckdb_priv.mechanism.fine_grain import FineGrain
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.reconstruction_privacy import exact_threshold, sample_size, threshold
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.mechanism.sampling import sampling_delta, sampling_k, tight_delta
from duckdb_priv.mechanism.sampling_variance import (
    perturbed_variance,
    suppression_bias,
    suppression_variance,
    weighted_variance,
)
from duckdb_priv.mechanism.shuffle import Pair, code_pair, log_delta, shuffle_epsilon
from duckdb_priv.mechanism.sketch import level_of
from duckdb_priv.mechanism.splu import (
    error_probabilities,
    exact_large_sum_threshold,
    large_sum_threshold,
    small_sum_privacy,
)
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.tails import tails
from duckdb_priv.mechanism.uniform import Uniform

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from reference.composition import advanced_composition  # noqa: E402
from reference.duplicated_sample import duplicated_variance, paper_moments  # noqa: E402
from reference.fine_grain_errors import expected_error, record_utility  # noqa: E402
from reference.scaled_count import scaled_count  # noqa: E402
from reference.score_interval import (  # noqa: E402
    WeightedSums,
    reconstructed_interval,
    reconstructed_variance,
    score_interval,
)
from reference.splu_paper import paper_iterative, paper_linear  # noqa: E402
from reference.subset_selection import optimal_error  # noqa: E402
from reference.whole_plan import largest_first_groups, mixed_groups  # noqa: E402

FOLDER = ROOT / "duckdb_priv" / "mechanism"
Z = float(ndtri(0.975))


def short(number: float, digits: int = 3) -> str:
    """Write a number with the given number of decimals, and without a 0 before the point.

    >>> short(0.25, 2), short(-0.5, 1), short(1.5, 1)
    ('.25', '-.5', '1.5')
    """
    text = f"{number:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(number) < 1 and "0." in text[:3] else text


def power(number: float) -> str:
    """Write a small number as 1.61e-9.

    >>> power(1.61e-9), power(4.19e-6)
    ('1.61e-9', '4.19e-6')
    """
    mantissa, exponent = f"{number:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def row(*cells: Any) -> str:
    """Write a line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def law(rows: int, held: int, own: float, other: float) -> np.ndarray:
    """Return the distribution of the number of rows that show a value if ``held`` rows truly have it."""
    return np.convolve(
        binom.pmf(np.arange(held + 1), held, own),
        binom.pmf(np.arange(rows - held + 1), rows - held, other),
    )


# --- codes of a block design ------------------------------------------------------------------


def block_design() -> Iterator[str]:
    yield "γ = 9: m = " + ", ".join(
        f"{values:,} {_gain(values, 9.0)}" for values in (14, 50, 120, 1_383, 10_000)
    )
    yield "γ = e: " + ", ".join(_gain(values, math.e) for values in (14, 50, 120, 1_383, 10_000))
    one = math.e
    design, plain = choose_design(1_383, one).code, Code(1_383)
    crowds = [
        [short(shuffle_epsilon([code_pair(code, one)], size, 1e-6)) for size in (100, 1_000)]
        for code in (design, plain)
    ]
    yield (
        f"ε is {crowds[0][0]} for the code in groups of 100, and {crowds[0][1]} in groups of 1,000"
    )
    yield f"with uniform perturbation {crowds[1][0]} and {crowds[1][1]}"
    yield f"at {plain.error(one) / design.error(one):.1f} times the noise"


def _gain(values: int, amplification: float) -> str:
    plain = Code(values).error(amplification)
    taken = plain / choose_design(values, amplification).code.error(amplification)
    best = plain / optimal_error(values, amplification)
    digits = 2 if best >= 10 else 3
    return f"{taken:.{digits}f} ({best:.{digits}f})"


# --- composition ------------------------------------------------------------------------------


def composition() -> Iterator[str]:
    found = advanced_composition([EpsilonDelta(0.1, 1e-7)] * 50, slack=1e-6)
    yield f"({found.epsilon:.4f}, {found.delta:.0e})".replace("e-0", "e-")
    parts = (0.05, 0.1, 0.2, 0.5)
    yield row("δ", *(power(sampling_delta(20, 0.1, 1 - each)) for each in parts))
    yield row("smallest k for δ ≤ 1e-6", *(sampling_k(0.1, 1 - each, 1e-6) for each in parts))


# --- decoy groups: mixing ---------------------------------------------------------------------


def decoy_groups() -> Iterator[str]:
    """Yield how far pairs of values in decoy groups are from the conditional Poisson law, for 40,000 records."""
    for title, gamma, weights, most in (
        ("γ = 2, 5 values, .90", 2, [1.8, 1, 0.6, 0.4, 0.2], 0.9),
        ("γ = 5, 30 values f ∝ 1/r², .99", 5, [1 / r**2 for r in range(1, 31)], 0.99),
        ("γ = 10, 12 values, .87", 10, [1 + (r % 3) / 20 for r in range(12)], 0.87),
        ("γ = 20, 60 values f ∝ 1/r, .99", 20, [1 / r for r in range(1, 61)], 0.99),
    ):
        counts = _histogram(40_000, gamma, weights, most)
        apart = [_apart(counts, gamma, rounds) for rounds in (None, 8, 16, 32, 64)]
        yield row(title, *(short(each, 3) for each in apart))


def _histogram(rows: int, gamma: int, weights: Iterable[float], most: float) -> np.ndarray:
    """Return counts with these proportions, none above the share ``most`` of the groups."""
    groups = rows // gamma
    capped = np.array(list(weights))
    for _ in range(200):
        capped = np.minimum(capped * rows / capped.sum(), most * groups)
    counts = np.floor(capped).astype(np.int64)
    for index in itertools.cycle(np.argsort(counts)):
        if counts.sum() == rows:
            return counts
        counts[index] += 1


def _apart(counts: np.ndarray, gamma: int, rounds: int | None) -> float:
    """Return the relative distance of pairs from their law; without ``rounds``, for the paper's groups."""

    def words(stream: int, count: int) -> np.ndarray:
        raw: np.ndarray = np.random.Philox(key=np.array([stream, 20261124], np.uint64)).random_raw(
            count
        )
        return raw

    if rounds is None:
        groups = largest_first_groups(counts, gamma, words)
    else:
        with mock.patch.object(mixing, "ROUNDS", rounds):
            groups = mixed_groups(counts, gamma, words)
    held = np.zeros((len(groups.members), len(counts)))
    for member in groups.members.T:
        held[np.arange(len(held)), member] = 1
    met = held.T @ held
    expected = (
        held.shape[0]
        * ConditionalPoisson.fit(gamma * counts / counts.sum(), gamma).joint_inclusion()
    )
    apart = ~np.eye(len(counts), dtype=bool)
    return float(np.linalg.norm((met - expected)[apart]) / np.linalg.norm(expected[apart]))


# --- determination ----------------------------------------------------------------------------


def determination() -> Iterator[str]:
    two, fifty = (chance(np.arange(2, 9), np.full(n, 1_000), 0.95) for n in (2, 50))
    yield (
        f"pi(2) = {short(two[0], 1)}, pi(6) = 2 * .5^6 = {short(two[4], 5)}, "
        f"pi(8) = {short(two[6], 7)}"
    )
    yield f"pi(2) = {short(fifty[0], 2)}, pi(3) = {short(fifty[1], 4)}"


# --- discrete Laplace noise -------------------------------------------------------------------


def discrete_laplace() -> Iterator[str]:
    rounded, exact = 1 - math.exp(-0.5), math.tanh(0.5)
    yield f"it gives 0 with probability {short(rounded)} instead of {short(exact)}"


# --- the largest sample size ------------------------------------------------------------------


def exact_thresholds() -> Iterator[str]:
    for p, m, epsilon in (
        (0.5, 14, 0.1),
        (0.5, 14, 0.3),
        (0.5, 14, 0.5),
        (0.5, 50, 0.3),
        (0.2, 14, 0.3),
        (0.2, 50, 0.3),
        (0.8, 14, 0.3),
    ):
        operator = Uniform(p, m)
        sizes = [
            exact_threshold(np.array([1.0]), operator, epsilon, delta).item()
            for delta in (0.01, 0.05, 0.1, 0.14)
        ]
        ten = math.floor(threshold(1.0, operator, epsilon, 0.1))
        yield row(
            f"{short(p, 1)}, {m}, {short(epsilon, 1)}",
            *(int(size) if size >= 1 else "–" for size in sizes),
            _largest_delta(operator, epsilon),
            ten,
        )
    counts = np.arange(2, 64, 1)
    halves = np.round(counts / 2).astype(np.int64)
    worst = np.minimum(*tails(counts, halves, Uniform(0.5, 14), epsilon=0.3))
    yield f"δ = .05 first fails at n = {counts[worst < 0.05][0]}"


def _largest_delta(operator: Uniform, epsilon: float) -> str:
    low, high = 0.0, 0.5
    while high - low > 1e-4:
        middle = (low + high) / 2
        feasible = exact_threshold(np.array([1.0]), operator, epsilon, middle).item() >= 1
        low, high = (middle, high) if feasible else (low, middle)
    return short(math.floor(1_000 * low) / 1_000) if low > 1e-3 else "none"


# --- fine-grain perturbation ------------------------------------------------------------------


def fine_grain() -> Iterator[str]:
    equal, lowest, highest = (
        np.full(4, 1 / 4),
        [1 / 10, 1 / 10, 1 / 20, 1 / 10],
        [1 / 7, 1 / 4, 1 / 3, 2 / 3],
    )
    example = Requirements(4, values=range(4), rho1=lowest, rho2=highest)
    both, paper = (
        short(record_utility(optimal_operator(equal, example, direction=each), equal), 6).rstrip(
            "0"
        )
        for each in ("both", "upward")
    )
    yield f"utility {both} instead of {paper}"
    two, skewed = (
        np.array([0.9, 0.1]),
        Requirements(2, values=[0, 1], rho1=[1 / 4] * 2, rho2=[1 / 2] * 2),
    )
    best = record_utility(optimal_operator(two, skewed, direction="upward"), two)
    yield f"utility {short(best, 2)}; with a"
    zipf = 1 / np.arange(1, 41)
    zipf /= zipf.sum()
    people = 95_946
    twenty = Requirements.from_tolerance(zipf, 20)
    both = optimal_operator(zipf, twenty)
    yield f"a condition number of {both.condition_number:,.0f}"
    spread = operators.linear_variance(both.weights(), both.matrix(), people * zipf)
    yield (
        f"or {short(zipf[-1])}, is estimated with a standard deviation "
        f"of {short(math.sqrt(spread.max()) / people, 2)}"
    )
    errors = []
    for tolerance in (20, 50):
        wanted = Requirements.from_tolerance(zipf, tolerance)
        upward = optimal_operator(zipf, wanted, direction="upward")
        plain = FineGrain(np.full(40, uniform_retention(wanted.gamma())))
        errors += [short(expected_error(each, people * zipf), 5) for each in (upward, plain)]
    yield (
        f"it is {errors[0]} against {errors[1]} for uniform perturbation "
        f"at tolerance 20, and {errors[2]} against {errors[3]} at 50"
    )
    yield f"√(2/π) = {short(math.sqrt(2 / math.pi))}"


# --- generalization schemes -------------------------------------------------------------------


def lattice() -> Iterator[str]:
    for k, beta, epsilon, first in (
        (5, 0.05, 3, 2),
        (20, 0.3, 2.5, 1.5),
        (20, 0.2, 2, 1),
        (50, 0.2, 2, 1),
    ):
        claimed = sampling_delta(k, beta, epsilon - first)
        found = _chosen_on_the_sample(k, beta, epsilon, first)
        yield row(k, short(beta, len(f"{beta}") - 2), epsilon, first, power(claimed), power(found))


def _chosen_on_the_sample(k: int, beta: float, epsilon: float, first: float) -> float:
    tilted = beta * math.exp(first) / (1 - beta + beta * math.exp(first))
    worst = 0.0
    for n in range(k, 20 * k):
        j = np.arange(k, n + 1)
        block, shifted = binom.pmf(j, n - 1, tilted), binom.pmf(j - 1, n - 1, tilted)
        excess = (1 - beta) * block + beta * shifted - math.exp(epsilon) * block
        worst = max(worst, float(np.maximum(excess, 0).sum()))
    return worst


# --- operators for stated questions -----------------------------------------------------------


def question_errors() -> Iterator[str]:
    """Yield errors of uniform perturbation, and bounds; `tests/unit/test_questions.py` computes the others."""
    grams: dict[str, Callable[[int], np.ndarray]] = {
        "ranges": questions.ranges_gram,
        "prefixes": questions.prefixes_gram,
        "mean": lambda values: questions.mean_gram(range(values)),
        "values": questions.values_gram,
    }
    rows = [(64, "1", kind) for kind in grams] + [(64, "ln 9", "ranges")]
    rows += [(values, "1", "ranges") for values in (32, 16, 128)]
    for values, epsilon, kind in rows:
        ratio = math.e if epsilon == "1" else 9.0
        gram = grams[kind](values)
        plain = questions.mean_error(gram, questions.uniform_operator(values, ratio))
        bound = questions.error_bound(gram, ratio)
        yield f"| {values}, {epsilon} | {kind} | {plain:.2f} | {short(bound, 2) if bound else 0} |"


# --- reconstruction privacy -------------------------------------------------------------------


def reconstruction_privacy() -> Iterator[str]:
    operator = Uniform(0.5, 14)
    upper, lower = tails(122, 61, operator, epsilon=0.3)
    yield f"The exact tails are {short(float(upper), 4)} and {short(float(lower), 4)}"
    yield f"within 30% with probability {short(1 - float(upper) - float(lower))}"
    drawn = law(122, 122, 0.5 * operator.own + 0.5 * operator.other, 0)
    limit = 122 * operator.other + 0.5 * 61 * 1.3
    independent = drawn[np.arange(123) > limit].sum()
    yield f"{short(float(independent))} instead of {short(float(upper))}"
    w = 0.5 * 0.5 + operator.other
    share = w + 0.3 * 0.5 * 0.5
    binomial = math.exp(
        -122 * (share * math.log(share / w) + (1 - share) * math.log((1 - share) / (1 - w)))
    )
    share = w - 0.3 * 0.5 * 0.5
    below = math.exp(
        -122 * (share * math.log(share / w) + (1 - share) * math.log((1 - share) / (1 - w)))
    )
    theta = 0.3 * 0.5 * 0.5 / w
    chernoff = (math.exp(-theta) / (1 - theta) ** (1 - theta)) ** (122 * w)
    yield f"{short(min(binomial, below), 4)} against {short(chernoff, 4)}"
    yield (
        "A hundred groups of 50 records each that all hold x are each private. "
        "Together they reveal x with a standard deviation "
        f"of {100 * math.sqrt(perturbed_variance(5_000, 5_000, operator).item()) / 5_000:.1f}%"
    )
    sizes = sample_size(operator, 0.3, 0.3), math.floor(threshold(0.2, operator, 0.3, 0.3))
    yield f"({sizes[0]} instead of {sizes[1]} at f = .2)"


# --- samples ----------------------------------------------------------------------------------


def sampling() -> Iterator[str]:
    first = binom.sf(59, _first_size(60, 0.4, 1.0), 0.4)
    yield f"the first tail is {power4(first)}, the largest {power4(sampling_delta(60, 0.4, 1.0))}"
    yield (
        f"d(20, .155, 1) = {power4(sampling_delta(20, 0.155, 1))} > d(20, "
        f".160, 1) = {power4(sampling_delta(20, 0.16, 1))}"
    )
    epsilons = (0.25, 0.5, 0.75, 1, 1.5, 2)
    for beta, name in ((0.05, ".05"), (0.1, ".1"), (0.2, ".2")):
        for title, of in ((f"β={name}, d", sampling_delta), ("tight", tight_delta)):
            yield row(title, *(power2(of(20, beta, epsilon)) for epsilon in epsilons))
    ks = [_matching(1.0), _matching(2.0)]
    yield (
        f"are {ks[0][0]}, {ks[0][1]} and **{ks[0][2]}** for β = .1, .2, "
        f".4, not 22, 35, 60; at ε = 2 they are {ks[1][0]}, {ks[1][1]} "
        f"and {ks[1][2]}"
    )
    asked = [
        (0.1, 1e-5),
        (0.5, 1e-5),
        (1, 1e-5),
        (1, 1e-6),
        (2, 1e-5),
        (math.log(2), 1e-7),
        (math.log(3), 1e-8),
    ]
    yield "`sampling_k` says " + ", ".join(
        str(sampling_k(-math.expm1(-epsilon), epsilon, delta)) for epsilon, delta in asked
    )


def _first_size(k: int, beta: float, epsilon: float) -> int:
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    return k - 1 + math.ceil(k * (1 - gamma) / gamma)


def _matching(epsilon: float) -> list[int]:
    goal = sampling_delta(15, 0.05, epsilon)
    found = []
    for beta in (0.1, 0.2, 0.4):
        found.append(sampling_k(beta, epsilon, goal))
    return found


def power2(number: float) -> str:
    """Write a small number as 1.61e-09."""
    return f"{number:.2e}"


def power4(number: float) -> str:
    """Write a small number as 6.883e-12."""
    return f"{number:.3e}"


# --- what sampling costs ----------------------------------------------------------------------


def sampling_variance() -> Iterator[str]:
    for title, counts, value, s, p, m, digits in (
        ("(5, 15), first, 15, .5, 2", [5, 15], 0, 15, 0.5, 2, (6, 4, 4, 4, 0)),
        ("(5, 15), second, 15, .5, 2", [5, 15], 1, 15, 0.5, 2, (6, 4, 4, 4, 0)),
        (
            "(100, 200, 700), third, 40.7, .5, 14",
            [100, 200, 700],
            2,
            40.7,
            0.5,
            14,
            (6, 2, 2, 2, 3),
        ),
        ("(30, 40), second, 50, .4, 10", [30, 40], 1, 50, 0.4, 10, (6, 3, 3, 3, 3)),
        ("(3, 2, 1), first, .6, .5, 5", [3, 2, 1], 0, 0.6, 0.5, 5, (3, 3, 2, 2, 2)),
    ):
        operator, size = Uniform(p, m), sum(counts)
        found = paper_moments(counts, value, s, operator)
        numbers = (
            found.mean,
            found.variance,
            duplicated_variance(size, counts[value], s, operator),
            weighted_variance(size, counts[value], s, operator),
            perturbed_variance(size, counts[value], operator),
        )
        cells = (f"{float(each):.{digit}f}" for each, digit in zip(numbers, digits, strict=True))
        yield row(title, *cells)
    yield f"with probability {short(0.75 * 0.25, 4)} the sample has 16 records"
    shares = [0.6 * count / 6 for count in (3, 2, 1)]
    yield f"empty with probability {short(math.prod(1 - share for share in shares))}"
    cost = duplicated_variance(76, 0, 57, Uniform(0.5, 14)) / weighted_variance(
        76, 0, 57, Uniform(0.5, 14)
    )
    yield f"is largest at c = 4/3: {float(cost) - 1:.1%}"


# --- counting on a sample ---------------------------------------------------------------------


def scaled_counts() -> Iterator[str]:
    rates = (0.01, 0.05, 0.1, 0.2, 0.5, 0.9, 0.95)
    found = [_sample_coverage(beta) for beta in rates]
    yield row("with correction", *(short(corrected, 4) for corrected, _ in found))
    yield row("without", *(short(plain, 4) for _, plain in found))
    lost = [-float(suppression_bias(size, 20, 0.1)) for size in (200, 400)]
    yield f"−{lost[0]:.0f} of 200 records, −{short(lost[1], 2)} of 400"
    varies = float(suppression_variance(200, 20, 0.1))
    yield (
        f"{varies:,.0f} for 200 records with k=20, β=.1, against {200 * 0.9 / 0.1:,.0f} "
        "without suppression"
    )


def _sample_coverage(beta: float) -> tuple[float, float]:
    """Return the least coverage with the continuity correction, and without, over true counts from 10 to 1,000."""
    half = Z * math.sqrt(1 - beta) / 2
    corrected, plain = 1.0, 1.0
    for true in range(10, 1_001):
        deep = 9 * math.sqrt(true * beta * (1 - beta)) + 9
        kept = np.arange(max(0, int(true * beta - deep)), min(true, int(true * beta + deep)) + 1)
        mass = binom.pmf(kept, true, beta)
        ours = scaled_count(kept, beta)
        corrected = min(corrected, mass[(ours.low <= true) & (true <= ours.high)].sum())
        low = (np.sqrt(half**2 + kept) - half) ** 2 / beta
        high = (np.sqrt(half**2 + kept) + half) ** 2 / beta
        plain = min(plain, mass[(low <= true) & (true <= high)].sum())
    return float(corrected), float(plain)


# --- score intervals --------------------------------------------------------------------------


def score_intervals() -> Iterator[str]:
    for rows, p, m in ((30, 0.5, 14), (100, 0.5, 14), (100, 0.2, 50), (400, 0.1, 50)):
        operator = Uniform(p, m)
        wilson = _least_coverage(rows, operator, *_wilson(rows, operator))
        ours = _least_coverage(rows, operator, *_ends(rows, operator, 0.95))
        yield row(f"{rows}, {short(p, 1)}, {m}", short(wilson, 4), short(ours, 4))
    designs = list(
        itertools.product((1, 2, 5, 10, 20, 50, 100), (0.1, 0.2, 0.3, 0.5, 0.7, 0.9), (2, 14, 50))
    )
    for title, leaning in (("smallest", True), ("without the term of skewness", False)):
        yield row(
            title,
            *(
                short(
                    min(
                        _least_coverage(
                            n, Uniform(p, m), *_ends(n, Uniform(p, m), confidence, leaning)
                        )
                        for n, p, m in designs
                    ),
                    4,
                )
                for confidence in (0.9, 0.95, 0.99, 0.999)
            ),
        )
    least = [_one_sampled_group(confidence) for confidence in (0.8, 0.9, 0.95, 0.99)]
    yield (
        f"is at least {short(least[2])}. At 80% it is at least {short(least[0])}, "
        f"at 90% {short(least[1])}, at 99% {short(least[3])}"
    )


def _ends(rows: int, operator: Uniform, confidence: float, leaning: bool = True) -> Any:
    if leaning:
        sums = WeightedSums.of_counts(rows, np.arange(rows + 1))
        return reconstructed_interval(sums, operator, confidence=confidence)
    p, a, q = operator.retention, operator.own, operator.other
    estimates = (np.arange(rows + 1) - rows * q) / p
    return score_interval(
        estimates, rows * q * (1 - q) / p**2, (1 - a - q) / p, 0.5 / p, rows, confidence
    )


def _wilson(rows: int, operator: Uniform) -> tuple[np.ndarray, np.ndarray]:
    sums = WeightedSums.of_counts(rows, np.arange(rows + 1))
    p, slope = operator.retention, (1 - operator.own - operator.other) / operator.retention
    estimate = (np.arange(rows + 1) - rows * operator.other) / p
    variance = reconstructed_variance(sums, operator)
    centre, bend = np.maximum(estimate, 0), Z**2 * slope / 2
    low = centre + bend - np.sqrt(Z**2 * (variance + slope * (centre - estimate)) + bend**2)
    reach = np.sqrt(np.maximum(Z**2 * variance + bend**2, 0))
    return np.clip(low, 0, rows), np.clip(estimate + bend + reach, 0, rows)


def _least_coverage(rows: int, operator: Uniform, low: Any, high: Any) -> float:
    held = np.arange(rows + 1)[:, np.newaxis]
    inside = (low <= held + 1e-9) & (held <= high + 1e-9)
    return float((_laws(rows, operator) * inside).sum(axis=1).min())


@cache
def _laws(rows: int, operator: Uniform) -> np.ndarray:
    """Return, for each number of rows that have a value, the distribution of the number that show it."""
    return np.array([law(rows, held, operator.own, operator.other) for held in range(rows + 1)])


def _one_sampled_group(confidence: float) -> float:
    least = 1.0
    pairs = (
        (0.5, 14, 57), (0.2, 14, 171), (0.2, 50, 144), (0.5, 2, 80), (0.8, 14, 34),
        (0.1, 50, 22), (0.5, 14, 5), (0.2, 50, 10), (0.8, 50, 2), (0.5, 14, 1),
    )  # fmt: skip
    for (p, m, sample), size in itertools.product(pairs, (1.02, 5, 60)):
        operator, records = Uniform(p, m), int(sample * size) + 1
        shown, w = np.arange(sample + 1), records / sample
        sums = WeightedSums(records, w * records, w * shown, w**2 * shown, w * records, w)
        low, high = reconstructed_interval(sums, operator, sample, confidence)
        laws = [*_laws(sample, operator)]
        laws.append(laws[-1])
        for truth in {*range(21), *np.linspace(0, records, 60).astype(int)} & set(
            range(records + 1)
        ):
            floor, rest = divmod(int(truth) * sample, records)
            up = rest / records
            mass = (1 - up) * laws[floor] + up * laws[floor + 1]
            least = min(least, mass[(low <= truth + 1e-9) & (truth <= high + 1e-9)].sum())
    return float(least)


# --- hiding in the crowd ----------------------------------------------------------------------


def shuffle() -> Iterator[str]:
    pair = code_pair(Code(50), 9.0)
    found = shuffle_epsilon([pair], 100, 1e-6)
    delta = math.exp(log_delta(pair, 100, 0.5))
    yield f"ε = {short(found, 4)} at δ = 1e-6; δ = {power5(delta)} at ε = .5"
    one, two = Uniform(0.3, 2), Uniform(0.9, 2)
    first, beside = (code_pair(Code(2), each.amplification) for each in (one, two))
    matrix = np.kron(one.matrix(), two.matrix())
    reported = _hockey_stick(matrix, (0, 1, 1, 1), (2, 1, 1, 1), 0.3)
    alone = math.exp(log_delta(first, 4, 0.3))
    known = Pair(beside.first, beside.first, beside.blanket)
    product = math.exp(log_delta(first.combined(known), 4, 0.3))
    yield f"the group of the first one alone would have δ = {short(alone)}"
    yield f"the exact δ for the first is {short(reported)}. The product's bound is {short(product)}"


def _hockey_stick(
    operator: np.ndarray, one: tuple[int, ...], two: tuple[int, ...], epsilon: float
) -> float:
    laws = [_histograms(operator, truth) for truth in (one, two)]
    return sum(
        max(p - math.exp(epsilon) * laws[1].get(key, 0.0), 0.0) for key, p in laws[0].items()
    )


def _histograms(operator: np.ndarray, truth: Iterable[int]) -> dict[tuple[int, ...], float]:
    found = {(0,) * len(operator): 1.0}
    for value in truth:
        longer: dict[tuple[int, ...], float] = {}
        for counts, probability in found.items():
            for shown, share in enumerate(operator[:, value]):
                key = (*counts[:shown], counts[shown] + 1, *counts[shown + 1 :])
                longer[key] = longer.get(key, 0.0) + probability * share
        found = longer
    return found


def power5(number: float) -> str:
    """Write a small number as 9.4535e-6."""
    mantissa, exponent = f"{number:.4e}".split("e")
    return f"{mantissa}e{int(exponent)}"


# --- sketches ---------------------------------------------------------------------------------


def sketch() -> Iterator[str]:
    level = level_of(10_000_000)
    yield f"ten million shared records l = {level}: sd D^ / D = {math.sqrt((2**level - 1) / 1e7):.2%}".replace(
        "= 0.", "= ."
    )
    most = math.ceil(2**level * -math.log(1e-9))
    yield f"With X = 0 and l = {level}, that is {most:,} for a = 1e-9"
    yield f"by chance with probability {1e12 / 2**64:.0e}".replace("e-0", "e-")


# --- smoothing --------------------------------------------------------------------------------


def smoothing() -> Iterator[str]:
    yield f".{round(1_000 * 1.96 * (2.5 / 10) ** 4):03d} standard errors at most"


# --- decoy groups -----------------------------------------------------------------------------


def splu() -> Iterator[str]:
    half = [small_sum_privacy(10, 0.5, 2, convention) for convention in ("lemma_2", "definition_2")]
    yield f"gives {short(half[0], 4)} and {short(half[1], 4)}"
    wrong = sum(
        math.ceil((1 - e / 100) * f) != -((-(100 - e) * f) // 100)
        for e in range(1, 100)
        for f in range(1, 101)
    )
    yield f"in {wrong} of the 9,900 cases"
    privacy = [short(small_sum_privacy(gamma, 0.3, 10), 2) for gamma in (10, 2)]
    yield f"means T_P(10) = {privacy[0]} for γ = 10 and {privacy[1]} for γ = 2"
    three = [short(small_sum_privacy(gamma, 0.3, 3), 2) for gamma in (2, 10)]
    yield f"is {three[0]} for γ = 2 and {three[1]} for γ = 10"
    exact = error_probabilities(10, [100], 0.1, "definition_2")[0]
    yield (
        f"(γ = 10, f = 100, ε = .1: it says {short(1 / (10 * 0.01 * 100**2))}, "
        f"Chebyshev {short(0.9 / (0.01 * 100), 1)}, the exact law {short(exact)})"
    )
    for gamma, epsilon, error in ((10, 0.1, 0.1), (10, 0.3, 0.05), (5, 0.3, 0.1), (2, 0.1, 0.1)):
        paper = 1 / math.sqrt(gamma * epsilon**2 * error)
        yield row(
            gamma,
            short(epsilon, 1),
            short(error, len(f"{error}") - 2),
            f"{paper:.1f}" if paper < 5 else f"{paper:.0f}",
            large_sum_threshold(gamma, epsilon, error),
            exact_large_sum_threshold(gamma, epsilon, error),
        )
    moved = [(1 - share / 5) / (1 - share) * 5 for share in (0.5, 0.8, 0.9, 0.95, 0.99)]
    yield f"moves the estimate: {', '.join(f'{each:.0f}' for each in moved)}"
    covered = float(ndtr(Z - 0.25) - ndtr(-Z - 0.25))
    lost = short(100 * (0.95 - covered), 1)
    yield f"costs a 95% interval {lost}% of its coverage"
    yield f"(Φ({Z - 0.25:.2f}) - Φ(-{Z + 0.25:.2f}) = {short(covered, 4)})"
    linear = paper_linear(24, 200, 100, 1000, 5)
    stopped, iterated = (
        paper_iterative(24, 200, 100, 1000, 5, stop=stop)[0][0] for stop in (0.01, 1e-12)
    )
    yield (
        f"corrected 56, paper linear {linear:.0f}, paper iterated {iterated:.2f}, "
        f"stopped at 1% {stopped:.2f}"
    )


# --- two looks at one record ------------------------------------------------------------------


def looks() -> Iterator[str]:
    flip = np.array([[0.75, 0.25], [0.25, 0.75]])
    changed = two_looks.of_changed_value(flip, flip, np.array([0.5, 0.5]))
    yield f"The posterior is {changed.both:.1f} instead of {changed.one:.2f}"


# --- exact tails ------------------------------------------------------------------------------


def tail_table() -> Iterator[str]:
    for p, f, delta, n, k in (
        (0.5, 0.5, 0.3, 122, 61),
        (0.5, 0.2, 0.3, 363, 73),
        (0.7, 0.5, 0.3, 81, 40),
        (0.5, 0.5, 0.46, 78, 39),
        (0.5, 0.5, 0.14, 199, 100),
        (0.5, 1, 0.3, 57, 57),
    ):
        upper, lower = (float(each) for each in tails(n, k, Uniform(p, 14), epsilon=0.3))
        yield row(
            short(p, 1),
            short(f, 1) if f < 1 else 1,
            short(delta, 2),
            n,
            k,
            short(upper, 5),
            short(lower, 5),
        )


# --- uniform perturbation ---------------------------------------------------------------------


def uniform() -> Iterator[str]:
    operator = Uniform(0.5, 14)
    low = law(20, 1, operator.own, operator.other)[np.arange(21) < 20 * operator.other].sum()
    yield f"it is negative with probability {short(float(low), 2)}"
    covered = [
        _wald_and_ours(n, p, m)
        for n, p, m in ((30, 0.5, 14), (100, 0.5, 14), (100, 0.2, 50), (400, 0.1, 50))
    ]
    wald, ours = zip(*covered, strict=True)
    yield (
        f"covers, at worst, {short(min(wald), 2)} to {short(max(wald), 2)} "
        f"instead of .95 for 30 to 400 records; this one {short(min(ours), 2)} "
        f"to {short(max(ours), 2)}"
    )


def _wald_and_ours(rows: int, p: float, m: int) -> tuple[float, float]:
    operator = Uniform(p, m)
    sums = WeightedSums.of_counts(rows, np.arange(rows + 1))
    estimate = (np.arange(rows + 1) - rows * operator.other) / p
    reach = Z * np.sqrt(reconstructed_variance(sums, operator))
    wald = _least_coverage(rows, operator, estimate - reach, estimate + reach)
    return wald, _least_coverage(rows, operator, *_ends(rows, operator, 0.95))


# --- the list ---------------------------------------------------------------------------------

DERIVATIONS: dict[str, Callable[[], Iterator[str]]] = {
    "block_design": block_design,
    "composition": composition,
    "decoy_groups": decoy_groups,
    "determination": determination,
    "discrete_laplace": discrete_laplace,
    "exact_threshold": exact_thresholds,
    "fine_grain": fine_grain,
    "lattice": lattice,
    "questions": question_errors,
    "reconstruction_privacy": reconstruction_privacy,
    "sampling": sampling,
    "sampling_variance": sampling_variance,
    "scaled_count": scaled_counts,
    "score_interval": score_intervals,
    "shuffle": shuffle,
    "sketch": sketch,
    "smoothing": smoothing,
    "splu": splu,
    "tails": tail_table,
    "two_looks": looks,
    "uniform": uniform,
}
"""The function that yields the numbers of each document."""


def main() -> None:
    for name in sys.argv[1:] or DERIVATIONS:
        print(f"{name}.md")
        for text in DERIVATIONS[name]():
            print(f"    {text}")


if __name__ == "__main__":
    main()

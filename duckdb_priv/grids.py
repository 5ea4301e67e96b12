"""Every mechanism at the parameters of a grid: what it promises, and the errors of every query.

What is impossible at a point of the grid (a decoy group larger than the values allow, a sample of less than one
record) is left out; what no table could allow is an error.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from duckdb_priv.errors import InvalidParameter
from duckdb_priv.mechanism.decoy_variance import expected_errors
from duckdb_priv.mechanism.eligibility import largest_gamma, require_gamma
from duckdb_priv.mechanism.fine_grain_program import optimal_operator, uniform_retention
from duckdb_priv.mechanism.operator import ldp_epsilon, linear_variance
from duckdb_priv.mechanism.reconstruction_privacy import threshold
from duckdb_priv.mechanism.requirements import Requirements
from duckdb_priv.mechanism.sampling import check_beta, sampling_delta, sampling_k
from duckdb_priv.mechanism.uniform import Uniform, max_retention
from duckdb_priv.options import Option, Question
from duckdb_priv.options import Requirement as Limits
from duckdb_priv.recipes.reconstruction_private import Requirement
from duckdb_priv.recipes.safe_k_terms import Terms, guarantees_of
from duckdb_priv.recipes.splu import guarantees_of as guarantees_of_decoys

MIN_RETENTION = 0.05
"""The smallest retention that fine-grain perturbation is advised with."""
SAMPLE_EPSILON = 1.0
"""The epsilon for which samples are advised where none is required."""
NORMAL = "Errors are taken as normal"
EXACT = f"{NORMAL}, with the exact variance."


def uniform_options(question: Question) -> Iterator[Option]:
    """Uniform perturbation at every retention of the grid, and at the largest that a requirement allows.

    The variance of an estimate over n records, of which k have the value, is
    (k a (1 - a) + (n - k) q (1 - q)) / p^2 (Wang, Han, Fu, section 3; the derivation stands in mechanism/uniform.md).
    """
    counts = question.counts
    others = question.records - counts
    for retention in _retentions(
        question.grids["retentions"], question.required, question.domain_size
    ):
        operator = Uniform(retention, question.domain_size)
        a, q = operator.own, operator.other
        variances = counts * a * (1 - a) + others * q * (1 - q)
        yield Option(
            "uniform",
            {"retention": retention},
            (),
            counts,
            np.sqrt(variances) / retention,
            EXACT,
            amplification=operator.amplification,
            epsilon=operator.ldp_epsilon,
        )


def _retentions(grid: Sequence[float], required: Limits, m: int) -> list[float]:
    largest = []
    if required.limits is not None:
        largest.append(max_retention(*required.limits, m))
    if required.epsilon is not None:
        # Amplification 1 + m p / (1 - p) = exp(epsilon), rounded down.
        rise = math.expm1(required.epsilon)
        largest.append(rise / (rise + m) * (1 - 1e-12))
    return sorted({*grid, *([min(largest)] if largest else [])})


def fine_grain_options(question: Question) -> Iterator[Option]:
    """Fine-grain perturbation at every tolerance of the grid that asks anything of these frequencies.

    The variance is that of any linear estimate (mechanism/operator.md); the smallest retention keeps it finite.
    """
    for tolerance in question.grids["tolerances"]:
        if tolerance * question.frequencies.min() >= question.frequencies.sum():
            continue
        requirements = Requirements.from_tolerance(question.frequencies, tolerance)
        least = min(MIN_RETENTION, uniform_retention(requirements.gamma()))
        operator = optimal_operator(question.frequencies, requirements, min_retention=least)
        variances = linear_variance(operator.weights(), operator.matrix(), question.histograms)
        epsilon = ldp_epsilon(operator.matrix())
        yield Option(
            "fine_grain",
            {"tolerance": tolerance, "min_retention": least},
            (f"The belief in a value of frequency f rises to at most {tolerance:g} f.",),
            question.counts,
            np.sqrt(np.maximum(question.of_asked(variances), 0)),
            EXACT,
            amplification=math.exp(epsilon),
            epsilon=epsilon if math.isfinite(epsilon) else None,
        )


def reconstruction_private_options(question: Question) -> Iterator[Option]:
    """Reconstruction privacy at every retention, epsilon and delta, the sample size being public.

    The variances are those of mechanism/sampling_variance.md, summed over the micro groups of each query.
    """
    for operator, epsilon, delta in _sampled(
        question.grids, question.required, question.domain_size
    ):
        parameters = {"retention": operator.retention, "epsilon": epsilon, "delta": delta}
        wanted = Requirement.read({**parameters, "max_frequency": 1.0}, question.domain_size)
        variances = question.micro_groups.variances(
            operator, wanted.sample_size, question.records, question.counts
        )
        yield Option(
            "reconstruction_private",
            parameters,
            (wanted.guarantee(question.attribute).statement,),
            question.counts,
            np.sqrt(variances),
            f"{NORMAL}, with the exact variance of sampling micro groups and perturbing.",
            amplification=operator.amplification,
            epsilon=operator.ldp_epsilon,
        )


def smallest_sample(grids: Mapping[str, Sequence[float]], required: Limits, m: int) -> int:
    """Return the least size of a sample that a point of the grid has; no smaller micro group is ever sampled."""
    sizes = [
        int(threshold(1.0, operator, epsilon, delta))
        for operator, epsilon, delta in _sampled(grids, required, m)
    ]
    return min(sizes, default=sys.maxsize)


def _sampled(
    grids: Mapping[str, Sequence[float]], required: Limits, m: int
) -> Iterator[tuple[Uniform, float, float]]:
    """List operators, epsilons and deltas that allow samples of at least one record."""
    for retention, epsilon, delta in product(
        _retentions(grids["retentions"], required, m),
        grids["reconstruction_epsilons"],
        grids["reconstruction_deltas"],
    ):
        operator = Uniform(retention, m)
        if threshold(1.0, operator, epsilon, delta) >= 1:
            yield operator, epsilon, delta


def splu_options(question: Question) -> Iterator[Option]:
    """Decoy groups of every size of the grid for which the table is eligible (mechanism/decoy_variance.md)."""
    largest = min(largest_gamma(question.frequencies), question.domain_size)
    for gamma in _whole(question, "gammas"):
        require_gamma(gamma)
        if gamma > largest:
            continue
        errors = expected_errors(
            question.frequencies, gamma, question.histograms, question.positions
        )
        if not np.isfinite(errors.variance).all():
            # A value in every group, whose counts cannot be reconstructed.
            continue
        own, small, *_ = guarantees_of_decoys(question.attribute, gamma)
        yield Option(
            "splu",
            {"gamma": gamma},
            (own.statement, small.statement),
            question.counts,
            np.sqrt(errors.variance),
            f"{NORMAL}, with the variance for well mixed groups, to first order.",
            biases=errors.bias,
        )


def safe_k_options(question: Question) -> Iterator[Option]:
    """Generalized samples at every rate beta and smallest group k, and at the least k that a required delta allows.

    What happens to a count is the sum over its groups of mechanism/scaled_count.md. What small groups lose is a bias
    that no analyst can undo, so it counts as an error.
    """
    table, required = question.generalized, question.required
    if table is None:
        return
    epsilon = SAMPLE_EPSILON if required.epsilon is None else required.epsilon
    for beta in question.grids["betas"]:
        check_beta(beta)
        if epsilon < -math.log1p(-beta):
            continue
        smallest = [sampling_k(beta, epsilon, required.delta)] if 0 < required.delta < beta else []
        for k in sorted({*_whole(question, "ks"), *smallest}):
            if sampling_delta(k, beta, epsilon) >= beta:
                continue
            terms = Terms(k, beta, epsilon, epsilon1=0.0)
            yield Option(
                "safe_k",
                {
                    "k": k,
                    "beta": beta,
                    "epsilon": epsilon,
                    "hierarchies": table.hierarchies,
                    "levels": table.levels,
                },
                (guarantees_of(terms, nodes=1)[0].statement,),
                table.counts,
                np.sqrt(table.variances(k, beta)),
                "The questions are about generalized values, so they are broader than those of other options."
                f" {NORMAL}, with the exact bias and variance of sampling and suppressing: rough where groups are as"
                " often suppressed as not.",
                biases=table.bias(k, beta),
                epsilon=epsilon,
                delta=terms.delta,
                suppressed=table.suppressed(k, beta),
            )


def _whole(question: Question, name: str) -> list[int]:
    for number in question.grids[name]:
        if number != int(number):
            raise InvalidParameter(f"{name} must be whole numbers, got {number!r}")
    return [int(number) for number in question.grids[name]]


MECHANISMS: Mapping[str, Callable[[Question], Iterator[Option]]] = {
    "uniform": uniform_options,
    "fine_grain": fine_grain_options,
    "reconstruction_private": reconstruction_private_options,
    "splu": splu_options,
    "safe_k": safe_k_options,
}
"""What can be advised."""
GRIDS = (
    "retentions",
    "tolerances",
    "reconstruction_epsilons",
    "reconstruction_deltas",
    "gammas",
    "ks",
    "betas",
)
"""The lists of parameters that a call names."""

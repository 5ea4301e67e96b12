"""Plan a publication with a code of a block design: records report blocks, by the design of least variance.

Sources: Feldman, Nelson, Nguyen, Talwar, "Private frequency estimation via projective geometry"; Park, Nam, Lee,
"Exactly optimal and communication-efficient private estimation via block designs".
"""

from __future__ import annotations

import math

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import Uniform, amplified_retention
from duckdb_priv.methods.block_design.arguments import BlockDesignArguments
from duckdb_priv.methods.common.domain import Domain, open_domains
from duckdb_priv.methods.common.local_privacy import (
    asked_amplification,
    code_guarantees,
    stated_codes,
    uniformly_perturbed,
)
from duckdb_priv.methods.common.perturbation import BlockDraw, bits_of
from duckdb_priv.methods.common.perturbed import Perturbed, plan_of
from duckdb_priv.release.model import MANY_VALUES, Blocks, SensitiveAttribute

MECHANISM = "block_design"


def plan(
    workspace: Workspace, source: Source, release: str, arguments: BlockDesignArguments
) -> Plan:
    """Plan a release whose records report blocks of values."""
    amplification, asked = asked_amplification(arguments.epsilon, arguments.rho1, arguments.rho2)
    domains = open_domains(workspace, source, arguments.domain)
    of = [_reported(workspace, source, release, domain, amplification, asked) for domain in domains]
    parameters = {
        "epsilon": arguments.epsilon if asked is None else math.log(amplification),
        **({"rho1": asked[0], "rho2": asked[1]} if asked else {}),
        **stated_codes({each.attribute.name: code for each, code in of}),
    }
    return plan_of(workspace, source, MECHANISM, parameters, [each for each, _ in of])


def _reported(
    workspace: Workspace,
    source: Source,
    release: str,
    domain: Domain,
    amplification: float,
    limits: tuple[float, float] | None,
) -> tuple[Perturbed, Code]:
    """Return the perturbed attribute and its code."""
    if domain.size > MANY_VALUES:
        raise InvalidSource(
            f"sensitive column {domain.attribute!r} has {domain.size} values, and a block design allows"
            f" {MANY_VALUES} at most",
            hint="group its values in a view, and publish the view",
        )
    design = choose_design(domain.size, amplification)
    code = design.code
    plain = Code(domain.size)
    if code.holding == 1:
        operator = Uniform(amplified_retention(amplification, domain.size), domain.size)
        sentence = (
            f"With {domain.size} values of {domain.attribute} no code of blocks gains anything, so its values are"
            f" perturbed uniformly, with retention {operator.retention:.4g}."
        )
        perturbed = uniformly_perturbed(
            workspace, source, release, domain, operator, limits, sentence
        )
        return perturbed, plain
    blocks = Blocks(code.outcomes, design.stride, tuple(design.offsets()))
    random_bits = bits_of(
        workspace,
        source,
        MECHANISM,
        domain,
        blocks=[blocks.count, blocks.stride, *blocks.first],
        amplification=amplification,
    )
    gain = plain.error(amplification) / code.error(amplification)
    perturbed = Perturbed(
        BlockDraw(domain, random_bits, blocks, *code.thresholds(amplification)),
        SensitiveAttribute(
            release=release,
            name=domain.attribute,
            type=domain.value_type,
            values=domain.values,
            form="blocks",
            numbers={
                "own": (code.own(amplification),) * domain.size,
                "other": (code.other(amplification),) * domain.size,
            },
            blocks=blocks,
        ),
        code_guarantees(domain.attribute, code, amplification, limits),
        math.log(amplification),
        sentence=f"A record reports one of {code.outcomes:,} blocks of values of {domain.attribute}, of which"
        f" {code.holding:,} hold a value: estimates are {gain:.3g} times as exact as with uniform perturbation.",
    )
    return perturbed, code

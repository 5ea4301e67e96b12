"""Plan a publication with a code of a block design: records report blocks, by the design of least variance.

Sources: Feldman, Nelson, Nguyen, Talwar, "Private frequency estimation via projective geometry"; Park, Nam, Lee,
"Exactly optimal and communication-efficient private estimation via block designs".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from duckdb_priv.engine.plan import Plan
from duckdb_priv.engine.source import Source
from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.errors import InvalidSource
from duckdb_priv.mechanism.block_design import choose_design
from duckdb_priv.mechanism.symmetric_code import Code
from duckdb_priv.mechanism.uniform import (
    Uniform,
    amplified_retention,
)
from duckdb_priv.methods.block_design.arguments import BlockDesignArguments
from duckdb_priv.methods.common.domain import (
    Domain,
    given_domains,
    open_domains,
    warn_of_domain,
)
from duckdb_priv.methods.common.local_privacy import (
    asked_amplification,
    rho_guarantee,
    uniform_attribute,
    uniform_guarantees,
    uniform_perturbation,
)
from duckdb_priv.methods.common.perturbation import (
    BlockDraw,
    Drawn,
    open_random_bits,
    perturb_kernel,
)
from duckdb_priv.methods.common.shuffles import shuffle_guarantees
from duckdb_priv.release.model import (
    MANY_VALUES,
    Blocks,
    Guarantee,
    LedgerEntry,
    SensitiveAttribute,
)
from duckdb_priv.release.promise import of_value

MECHANISM = "block_design"


@dataclass(frozen=True)
class Reported:
    """The published form of one attribute."""

    draw: Drawn
    attribute: SensitiveAttribute
    code: Code
    epsilon: float
    guarantees: list[Guarantee]
    sentence: str
    """A sentence about the code, for the receipt."""


def plan(
    workspace: Workspace, source: Source, release: str, arguments: BlockDesignArguments
) -> Plan:
    """Plan a release whose records report blocks of values."""
    amplification, asked = asked_amplification(arguments.epsilon, arguments.rho1, arguments.rho2)
    domains = open_domains(workspace, source, given_domains(arguments.domain, source))
    of = [_reported(workspace, source, release, domain, amplification, asked) for domain in domains]
    guarantees = [each for reported in of for each in reported.guarantees]
    strongest = guarantees[0]
    attributes = [each.attribute for each in of]
    guarantees += shuffle_guarantees(workspace, source, attributes)
    return Plan(
        mechanism=MECHANISM,
        parameters={
            "epsilon": arguments.epsilon if asked is None else math.log(amplification),
            **({"rho1": asked[0], "rho2": asked[1]} if asked else {}),
            **_of_codes({each.attribute.name: each.code for each in of}),
        },
        kernel=perturb_kernel(source, [each.draw for each in of]),
        columns=source.published_roles,
        attributes=attributes,
        provenance={domain.attribute: domain.provenance for domain in domains},
        guarantees=guarantees,
        ledger=[
            LedgerEntry(
                attribute=each.attribute.name,
                epsilon=each.epsilon,
                fingerprint=each.draw.random_bits.fingerprint,
                fresh=each.draw.random_bits.fresh,
            )
            for each in of
        ],
        strongest=" ".join([strongest.statement, *(each.sentence for each in of)]),
        rows_expected=source.rows,
        warnings=[warning for domain in domains for warning in warn_of_domain(domain, source)],
    )


def _of_codes(codes: Mapping[str, Code]) -> dict[str, object]:
    """Return the parameters of codes: the number of blocks, of those with a given value, and of those with two."""
    found = {"blocks": "outcomes", "holding": "holding", "shared": "shared"}
    stated: dict[str, object] = {}
    for name, field in found.items():
        numbers = {attribute: getattr(code, field) for attribute, code in codes.items()}
        stated[name] = numbers if len(codes) > 1 else next(iter(numbers.values()))
    return stated


def _reported(
    workspace: Workspace,
    source: Source,
    release: str,
    domain: Domain,
    amplification: float,
    limits: tuple[float, float] | None,
) -> Reported:
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
        return Reported(
            uniform_perturbation(workspace, source, domain, operator),
            uniform_attribute(release, domain, operator),
            plain,
            operator.ldp_epsilon,
            uniform_guarantees(domain.attribute, operator, limits),
            f"With {domain.size} values of {domain.attribute} no code of blocks gains anything, so its values are"
            f" perturbed uniformly, with retention {operator.retention:.4g}.",
        )
    blocks = Blocks(code.outcomes, design.stride, tuple(design.offsets()))
    random_bits = open_random_bits(
        workspace,
        source,
        {
            "mechanism": MECHANISM,
            "attribute": domain.attribute.lower(),
            "domain": domain.digest,
            "blocks": [blocks.count, blocks.stride, *blocks.first],
            "amplification": amplification,
        },
    )
    gain = plain.error(amplification) / code.error(amplification)
    return Reported(
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
        code,
        math.log(amplification),
        code_guarantees(domain.attribute, code, amplification, limits),
        f"A record reports one of {code.outcomes:,} blocks of values of {domain.attribute}, of which"
        f" {code.holding:,} hold a value: estimates are {gain:.3g} times as exact as with uniform perturbation.",
    )


def code_guarantees(
    attribute: str,
    code: Code,
    amplification: float,
    limits: tuple[float, float] | None = None,
) -> list[Guarantee]:
    """Return the guarantees of a code for one attribute."""
    epsilon = math.log(amplification)
    found = [
        Guarantee(
            "local_differential_privacy",
            of_value(attribute, epsilon, "noisy value, the number of a block,"),
            value=epsilon,
            attribute=attribute,
            parameters={"amplification": amplification, **_of_codes({attribute: code})},
        )
    ]
    return [*found, *([rho_guarantee(attribute, amplification, limits)] if limits else [])]

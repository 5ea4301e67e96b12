"""Audit of safe k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckdb_priv.engine.workspace import Workspace
from duckdb_priv.mechanism import binomial
from duckdb_priv.mechanism.sampling import sampling_delta, tight_delta
from duckdb_priv.methods.common.findings import FALSE_ALARM, TOLERANCE, Audited, AuditRow, finding
from duckdb_priv.methods.safe_k.plan import MECHANISM
from duckdb_priv.release import catalog
from duckdb_priv.release.model import SCALE
from duckdb_priv.release.promise import factor
from duckdb_priv.sqltext.quoting import identifiers
from duckdb_priv.sqltext.reading import count_of, select
from duckdb_priv.sqltext.templates import section


def audit(audited: Audited) -> list[AuditRow]:
    """Recompute the claims of a generalized sample, and compare them with its table and the ledger."""
    workspace, release = audited.workspace, audited.release
    terms = catalog.release_row(workspace.cursor, release)["parameters"]
    return [
        *_privacy(audited, terms),
        *_table(audited, terms),
        _sampled(audited, terms),
        *_ledger(workspace, release),
    ]


def _privacy(audited: Audited, terms: Mapping[str, Any]) -> list[AuditRow]:
    claimed = {name: value or 0.0 for name, (value, _) in audited.claims.items()}
    epsilon, epsilon1 = terms["epsilon"], terms.get("epsilon1", 0.0)
    delta = sampling_delta(terms["k"], terms["beta"], epsilon - epsilon1)
    tight = tight_delta(terms["k"], terms["beta"], epsilon - epsilon1)
    return [
        finding(
            "differential_privacy",
            "One record more or less changes the probability of any release by a factor of"
            f" {factor(epsilon)}, except with probability {delta:.3g}.",
            epsilon,
            epsilon <= claimed["differential_privacy"] * (1 + TOLERANCE)
            and delta <= terms["delta"] * (1 + TOLERANCE),
            claimed=claimed["differential_privacy"],
            claimed_delta=terms["delta"],
            delta=delta,
            epsilon1=epsilon1,
        ),
        finding(
            "tight_delta",
            "The smallest delta for which this holds, exactly.",
            tight,
            tight <= claimed["tight_delta"] * (1 + TOLERANCE) and tight <= delta,
            claimed=claimed["tight_delta"],
        ),
    ]


def _table(audited: Audited, terms: Mapping[str, Any]) -> list[AuditRow]:
    workspace, table = audited.workspace, audited.table
    names = identifiers(audited.columns("generalized"))
    groups = section("audits", "smallest_group", table=table, columns=names)
    ((smallest,),) = workspace.rows(groups)
    ((low, high),) = workspace.rows(select([f"min({SCALE})", f"max({SCALE})"], table))
    return [
        finding(
            "k_anonymity",
            f"The smallest group of equal published rows has {smallest}.",
            smallest,
            smallest >= terms["k"],
            k=terms["k"],
        ),
        finding(
            "scale",
            "Every published row represents as many source records as the sampling rate says.",
            high,
            low == high == 1 / terms["beta"],
            beta=terms["beta"],
        ),
    ]


def _sampled(audited: Audited, terms: Mapping[str, Any]) -> AuditRow:
    """Test whether there are more rows than a sample at the stated rate can have."""
    source = audited.source
    if source is None:
        return finding("source", "The source is gone, so nothing is compared with it.", None)
    shown = count_of(audited.workspace.cursor, audited.table)
    return finding(
        "sampled_as_stated",
        "The share of the rows in the source as it is now. It does not exceed that of a sample at the stated rate.",
        shown / source.rows,
        bool(binomial.sf(shown - 1, source.rows, terms["beta"]) >= FALSE_ALARM),
        beta=terms["beta"],
        false_alarm=FALSE_ALARM,
    )


def _ledger(workspace: Workspace, release: str) -> list[AuditRow]:
    """Return the findings about other publications of the same sample and the same population."""
    (uses,) = workspace.rows(
        "SELECT count(*) FROM priv.ledger WHERE coins IN (SELECT coins FROM priv.ledger WHERE release = ?"
        " AND mechanism = ?)"
        " AND release <> ?",
        [release, MECHANISM, release],
    )[0]
    rows = workspace.rows(
        "SELECT max(epsilon_record), max(delta_record), count(*), bool_or(warning LIKE 'also published without%')"
        " FROM priv.ledger(details := true)"
        " WHERE population IN (SELECT population FROM priv.ledger() WHERE release = ?)",
        [release],
    )
    epsilon, delta, publications, mixed = rows[0]
    return [
        finding(
            "sample_used_once",
            "Nothing else has been published from the sample of this release.",
            float(uses),
            uses == 0,
        ),
        finding(
            "accumulated_epsilon",
            "The same records have also been published without differential privacy of whole records: no total holds."
            if mixed
            else f"All {publications} publications of the same records add up to this epsilon.",
            None if mixed else epsilon,
            publications=publications,
            delta=None if mixed else delta,
        ),
    ]

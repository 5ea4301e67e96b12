"""Reconstruction privacy: a public sample of every large equivalence class, perturbed."""

from duckdb_priv.methods.reconstruction_private.arguments import (
    ReconstructionPrivateArguments,
    ReconstructionPrivateGrid,
)
from duckdb_priv.methods.register import Method, Refreshing, Words

METHOD = Method(
    name="reconstruction_private",
    package=__name__,
    words=Words(
        title="Reconstruction privacy",
        promise="Publish a table by uniform perturbation of at most s records of "
        "every micro group, each with the number of records that it represents",
        when="No single small group should be estimated accurately.",
    ),
    arguments=ReconstructionPrivateArguments,
    once="a second sample of a micro group adds draws to those that are promised to be all: filters that each publish a"
    " part of one table gave 2,400 draws where 40 are promised",
    grid=ReconstructionPrivateGrid,
    advised_alone=True,
    symbols={
        "epsilon": ("ε", "relative error that must not be rare"),
        "delta": ("δ", "probability that a larger error must have"),
    },
    refreshing=Refreshing(
        "a row that is gone is of a record that left its group or has another value, and a new row is of one that came"
        " to its group or has another value; all others have the same rows, and show what they showed",
        remembers=True,
        waits="until a record leaves the rows of their group, which are as many as may be",
    ),
)

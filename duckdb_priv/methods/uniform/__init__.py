"""Uniform perturbation, also called k-ary randomized response."""

from duckdb_priv.methods.register import Method, Words
from duckdb_priv.methods.uniform.arguments import UniformArguments, UniformGrid

METHOD = Method(
    name="uniform",
    package=__name__,
    words=Words(
        title="Uniform perturbation (k-ary randomized response)",
        promise="Publish a table whose sensitive values are kept "
        "with probability retention, else drawn from their domain",
        when="One level of protection suits all values; the default choice.",
    ),
    arguments=UniformArguments,
    grid=UniformGrid,
    answers=True,
    derives="uniform",
)

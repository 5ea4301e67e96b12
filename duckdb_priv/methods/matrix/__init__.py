"""Any column-stochastic matrix (PRAM)."""

from duckdb_priv.methods.matrix.arguments import MatrixArguments
from duckdb_priv.methods.register import Method, Words

METHOD = Method(
    name="matrix",
    package=__name__,
    words=Words(
        title="Any matrix (PRAM)",
        promise="Publish a table whose sensitive values are exchanged with the probabilities of a matrix",
        when="The probabilities are given, or similar values should be exchanged for one another.",
    ),
    arguments=MatrixArguments,
    derives="uniform",
)

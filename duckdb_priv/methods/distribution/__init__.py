"""Values redrawn from their distribution, a baseline."""

from duckdb_priv.methods.distribution.arguments import DistributionArguments
from duckdb_priv.methods.register import Method, Refreshing, Words

METHOD = Method(
    name="distribution",
    package=__name__,
    words=Words(
        title="Values redrawn from their distribution",
        promise="Publish a table whose sensitive values are redrawn from their distribution in it",
        when="Only for comparison, to see what the other methods keep.",
    ),
    arguments=DistributionArguments,
    protection=None,
    refreshing=Refreshing(
        "",
        keeps=False,
        refused="it is a baseline that no longer has anything to do with its records",
    ),
)

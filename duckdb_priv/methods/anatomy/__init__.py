"""Anatomy, a baseline."""

from duckdb_priv.methods.anatomy.arguments import AnatomyArguments
from duckdb_priv.methods.register import Method, Refreshing, Words

METHOD = Method(
    name="anatomy",
    package=__name__,
    words=Words(
        title="Anatomy",
        promise="Publish each record with its group, and each group of l different values with its true values",
        when="Only for comparison, to see what the other methods protect.",
    ),
    arguments=AnatomyArguments,
    protection=None,
    once="a second group narrows the true value of a record down to what both have in common, often one value",
    refreshing=Refreshing(
        "",
        keeps=False,
        refused="a record that comes or goes changes the lists of others, and two lists of a record tell its"
        " value; it is a baseline, and never for real",
    ),
)

"""Shuffled groups: the retention depends on the number of records with equal public columns."""

from duckdb_priv.methods.register import Method, Protection, Refreshing, Words
from duckdb_priv.methods.shuffled.arguments import ShuffledArguments, ShuffledGrid

METHOD = Method(
    name="shuffled",
    package=__name__,
    words=Words(
        title="Shuffled groups (hiding in the crowd)",
        promise="Publish a table whose sensitive values are kept with a probability"
        " that grows with the number of records that share their public columns",
        when="Groups of equal public columns are large, and readers of the release do not hold the secret.",
    ),
    arguments=ShuffledArguments,
    protection=Protection(
        against="anyone who knows all other records, but not the secret",
    ),
    grid=ShuffledGrid,
    advised_alone=True,
    jointly=True,
    afresh=True,
    symbols={
        "epsilon": ("ε", "parameter of differential privacy of one record's value in its group"),
        "delta": ("δ", "probability with which this privacy may fail"),
    },
    refreshing=Refreshing(
        "all records were redrawn, and both versions together are two looks at each",
        keeps=False,
        charged=True,
    ),
)

"""Safe k-anonymity on a fresh random sample."""

from duckdb_priv.methods.register import Method, Protection, Refreshing, Words
from duckdb_priv.methods.safe_k.arguments import SafeKArguments, SafeKGrid

METHOD = Method(
    name="safe_k",
    package=__name__,
    words=Words(
        title="Safe k-anonymity on a random sample",
        promise="Publish a generalized sample without groups under k: (epsilon, delta)-differentially private",
        when="There are no sensitive columns, but identifying ones.",
    ),
    arguments=SafeKArguments,
    protection=Protection("one record", "one record is there or not", "anyone with any knowledge"),
    grid=SafeKGrid,
    sensitive=False,
    whole_records=True,
    refreshing=Refreshing(
        "they are two samples, each charged by itself", keeps=False, charged=True
    ),
)

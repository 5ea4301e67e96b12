"""Decoy groups (SPLU-Gen)."""

from duckdb_priv.methods.register import Method, Protection, Refreshing, Words
from duckdb_priv.methods.splu.arguments import SpluArguments, SpluGrid, fewest_of_a_batch

METHOD = Method(
    name="splu",
    package=__name__,
    words=Words(
        title="Decoy groups (SPLU-Gen)",
        promise="Publish a table whose sensitive values are drawn "
        "from secret groups of gamma records with different values",
        when="Small counts must stay hidden and large ones accurate.",
    ),
    arguments=SpluArguments,
    protection=Protection(neighbours="", against="someone who knows only how frequent values are"),
    once="a second group of decoys narrows the true value of a record down: 40 of them identify 63 to 96% of"
    " the values",
    grid=SpluGrid,
    symbols={"rows": ("N", "records in decoy groups")},
    refreshing=Refreshing(
        "the new records are in decoy groups among themselves, and a comparison shows which rows are theirs, which"
        " left, and whose value was corrected",
        given={"append": True},
        keeps=False,
        remembers=True,
        waits="until there are enough to be grouped with",
        batch=fewest_of_a_batch,
    ),
)

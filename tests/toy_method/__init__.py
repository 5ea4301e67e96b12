"""A method in one folder: a record keeps its value unless all of a few coins show tails."""

from duckdb_priv.methods.register import Method, Words
from toy_method.arguments import CoinsArguments, CoinsGrid

METHOD = Method(
    name="coins",
    package="toy_method",
    words=Words(
        title="Coins",
        promise="Publish a table whose sensitive values are kept unless all of a few coins show tails",
        when="A class of students should see how little a method needs.",
    ),
    arguments=CoinsArguments,
    grid=CoinsGrid,
    symbols={"coins": ("c", "coins that are thrown for each record")},
)

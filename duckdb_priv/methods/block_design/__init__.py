"""Codes of a block design: a record reports a block that contains several values."""

from duckdb_priv.methods.block_design.arguments import BlockDesignArguments, BlockDesignGrid
from duckdb_priv.methods.register import Method, Words

METHOD = Method(
    name="block_design",
    package=__name__,
    words=Words(
        title="Codes of a block design",
        promise="Publish a table in which each record reports the number of a block of values, of those that "
        "hold its own with a larger probability than of others",
        when="A sensitive column has many values, from about fifty on.",
    ),
    arguments=BlockDesignArguments,
    grid=BlockDesignGrid,
    answers=True,
    symbols={
        "blocks": ("K", "number of blocks"),
        "holding": ("c", "number of blocks that contain a given value"),
        "shared": ("λ", "number of blocks that contain two given values"),
        "own": ("a", "probability that a record reports a block with its own value"),
        "other": ("q", "probability that a record reports a block with one given other value"),
    },
    derives="block_design",
)

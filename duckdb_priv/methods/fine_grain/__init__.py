"""Fine-grain perturbation: a separate retention for each value, as large as its requirements allow."""

from duckdb_priv.methods.fine_grain.arguments import FineGrainArguments, FineGrainGrid
from duckdb_priv.methods.register import Method, Words

METHOD = Method(
    name="fine_grain",
    package=__name__,
    words=Words(
        title="Fine-grain perturbation",
        promise="Publish a table whose sensitive values each have a "
        "retention of their own, as large as their requirements allow",
        when="Some values are more sensitive than others.",
    ),
    arguments=FineGrainArguments,
    grid=FineGrainGrid,
    answers=True,
    procedures={"fine_grain_plan": "preview"},
    derives="uniform",
)

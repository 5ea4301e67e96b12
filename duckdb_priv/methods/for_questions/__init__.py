"""Publishing numbers and other ordered values by the operator with the least error for stated questions."""

from duckdb_priv.methods.for_questions.arguments import ForQuestionsArguments
from duckdb_priv.methods.register import Method, Words

METHOD = Method(
    name="for_questions",
    package=__name__,
    words=Words(
        title="Numbers and ordered values",
        promise="Publish a table whose sensitive numbers are perturbed so that stated questions have the least error",
        when="A sensitive column is a number or a date, and ranges, means or quantiles of it are asked for.",
    ),
    arguments=ForQuestionsArguments,
    answers=True,
    derives="for_questions",
)

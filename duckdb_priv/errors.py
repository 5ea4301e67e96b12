"""Every exception of the package, and the shape of its message.

A message says what is wrong, which value it is about, and, behind ``Hint:``, what to do
next. No message ever contains a record id or the secret, or which record has which sensitive value. A publisher is
told the values of the source that a given domain or matrix lacks, without how many records have them.
"""


class PrivError(Exception):
    """Base class of everything that duckdb_priv raises on purpose.

    >>> print(PrivError("no release is called 'visit'", hint="did you mean 'visits'?"))
    no release is called 'visit'
    Hint: did you mean 'visits'?
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")


class InvalidParameter(PrivError, ValueError):
    """A number or option lies outside what the mathematics allows."""


class InvalidSource(PrivError):
    """The source table, one of its columns, or a value in it cannot be published as asked."""


class ReleaseExists(PrivError):
    """The name of the release is taken."""


class UnknownRelease(PrivError):
    """No release has this name."""


class NotInstalled(PrivError):
    """The connection does not speak priv.*, or something else stands in its place."""


class PublicationFailed(PrivError):
    """A publication was given up, and nothing of it was kept."""


class GuaranteeViolated(PrivError):
    """A guarantee that a release would claim does not hold, so nothing was published."""


class InvalidReleaseFile(PrivError):
    """A file is not a release, is damaged, or was written by a newer library."""

"""Recognizes identifier columns by their names."""

from __future__ import annotations

import re

SUBJECTS = frozenset(
    {"patient", "person", "subject", "customer", "client", "member", "employee", "user", "account"}
    | {"respondent", "participant", "household", "encounter", "visit", "case", "record"}
)
"""Words for the people or things that an identifier belongs to."""
NUMBERS = frozenset(
    {"id", "ids", "uid", "guid", "uuid", "key", "nbr", "number", "num", "nr", "no", "ref", "code"}
)
"""Words for the identifier itself, which follow those."""
NAMES = (
    SUBJECTS
    | NUMBERS
    | {"ssn", "nin", "nhs", "mrn", "iban", "bsn", "vin", "imei", "imsi", "ip", "mac", "passport"}
    | {"mail", "email", "phone", "telephone", "tel", "mobile", "fax", "login", "username", "name"}
    | {"surname", "lastname", "firstname", "fullname", "licence", "license", "plate", "barcode"}
)
"""Words that end the names of identifier columns."""
WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def named_like_an_identifier(column: str) -> bool:
    """Return whether a column name ends like that of an identifier.

    >>> [named_like_an_identifier(name) for name in ("patient_nbr", "PatientID", "E-Mail", "userid")]
    [True, True, True, True]
    >>> [named_like_an_identifier(name) for name in ("age", "paid", "humid", "id_type")]
    [False, False, False, False]
    """
    words = [word.lower() for word in WORDS.split(column) if word]
    return bool(words) and (
        words[-1] in NAMES
        or any(words[-1] == subject + number for subject in SUBJECTS for number in NUMBERS)
    )

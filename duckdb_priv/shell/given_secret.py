"""Reads a secret that is kept outside the database: from a file, a command or an environment variable."""

from __future__ import annotations

import base64
import binascii
import os
import re
import subprocess
from pathlib import Path

from duckdb_priv.engine.randomness import SECRET_BYTES
from duckdb_priv.engine.secrets import read_for_owner
from duckdb_priv.errors import InvalidParameter, echoed

VARIABLE = "DUCKDB_PRIV_SECRET"
HEX = re.compile(rb"[0-9a-fA-F]{%d}" % (2 * SECRET_BYTES))
COMMAND_SECONDS = 60.0
"""The longest time that the command for the secret may take."""


def given_secret(file: str | None, command: str | None) -> bytes | None:
    """Return the secret from a file, a command's output or the environment; None if none of them gives one.

    Raises InvalidParameter if both a file and a command are given, if the command fails, if other users can read the
    file, or if the secret has the wrong length.
    """
    variable = os.environ.get(VARIABLE)
    if file is not None and command is not None:
        raise InvalidParameter(
            "the secret is given by a file and by a command", hint="give one of them"
        )
    if file is not None:
        return parsed(read_for_owner(Path(file), "a secret"), f"the secret in {echoed(file)}")
    if command is not None:
        return parsed(_printed_by(command), "the secret that the command prints")
    return None if variable is None else parsed(variable.encode(), f"the secret in {VARIABLE}")


def parsed(data: bytes, what: str) -> bytes:
    """Decode a secret that is written as bytes, as 64 hexadecimal digits, or in base64.

    >>> parsed(b"00" * 32 + b"\\n", "the secret") == parsed(bytes(32), "the secret")
    True
    >>> parsed(b"0123", "the secret")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: the secret is not 32 bytes long
    Hint: write it as 64 hexadecimal digits or in base64; duckdb-priv secret new FILE makes one
    """
    text = data.strip()
    found = data
    if HEX.fullmatch(text):
        found = bytes.fromhex(text.decode())
    elif len(data) != SECRET_BYTES:
        try:
            found = base64.b64decode(text, validate=True)
        except binascii.Error:
            found = b""
    if len(found) != SECRET_BYTES:
        raise InvalidParameter(
            f"{what} is not {SECRET_BYTES} bytes long",
            hint=f"write it as {2 * SECRET_BYTES} hexadecimal digits or in base64;"
            " duckdb-priv secret new FILE makes one",
        )
    return found


def written(secret: bytes) -> bytes:
    """Write a secret as a line of text.

    >>> parsed(written(bytes(range(32))), "the secret") == bytes(range(32))
    True
    """
    return secret.hex().encode() + b"\n"


def _printed_by(command: str) -> bytes:
    try:
        done = subprocess.run(
            command, shell=True, capture_output=True, timeout=COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise InvalidParameter(
            f"the command for the secret took more than {COMMAND_SECONDS:.0f} seconds"
        ) from None
    if done.returncode:
        # The message omits the command's output, which may contain a part of the secret.
        raise InvalidParameter(
            f"the command for the secret ended with {done.returncode}",
            hint="run it in your terminal to see why",
        )
    return done.stdout

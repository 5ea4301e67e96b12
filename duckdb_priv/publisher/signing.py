"""Signs releases with Ed25519: reads and writes key files, and computes the signed text.

A signature covers the contents of a release, not the bytes of its file: its rows in order, its catalog, its macros and
views, and its card. So it remains valid in a copy, in another storage format, and in a folder of Parquet files. The
release stores it as the view ``priv.signature``.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from duckdb_priv.engine.secrets import read_for_owner, write_for_owner
from duckdb_priv.errors import InvalidParameter, echoed
from duckdb_priv.publisher import page
from duckdb_priv.release.contents import (
    catalog_digest,
    comments,
    definitions,
    digest_of_texts,
    rows_digest,
)
from duckdb_priv.release.normal_form import normal
from duckdb_priv.sqltext.quoting import identifier, literal

VIEW = "priv.signature"
VARIABLE = "DUCKDB_PRIV_KEY_FILE"
PURPOSE = b"duckdb_priv release 1\0"
"""Prefix of the signed bytes, so that a signature is valid for a release only."""
KEY_BYTES = 32


@dataclass(frozen=True)
class Signature:
    """The content of ``priv.signature``."""

    signed: str
    """The signed text: JSON with the digests of the release's contents."""
    signature: str
    public_key: str

    @property
    def statements(self) -> list[str]:
        """The SQL that stores it in a release."""
        values = ", ".join(map(literal, (self.signed, self.signature, self.public_key)))
        return [
            f"CREATE VIEW {VIEW} AS FROM (VALUES ({values})) AS t(signed, signature, public_key)",
            f"COMMENT ON VIEW {VIEW} IS 'The Ed25519 signature of this release: duckdb-priv verify FILE --key PUBLIC"
            " checks it, with the public key that its publisher gave you. The key here proves nothing by itself.'",
        ]

    def is_by(self, public_key: str) -> bool:
        """Return whether it was made with the private key of this public key."""
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key))
            key.verify(base64.b64decode(self.signature), PURPOSE + self.signed.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    """A private key that signs releases."""

    key: Ed25519PrivateKey

    @property
    def public(self) -> str:
        """The public key, in base64."""
        raw = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def sign(self, signed: str) -> Signature:
        """Sign a text."""
        made = self.key.sign(PURPOSE + signed.encode())
        return Signature(signed, base64.b64encode(made).decode(), self.public)


def signed_text(
    connection: duckdb.DuckDBPyConnection,
    database: str,
    release: str,
    html: str,
    defined: Sequence[str],
) -> str:
    """Write the signed text of an attached release: its writer, and the digests of its contents.

    ``defined`` are the definitions of its objects.
    """
    written = [
        each
        for each in defined
        if not each.startswith(
            (f"CREATE VIEW {normal(VIEW)} ", f"CREATE VIEW {normal(page.VIEW)} ")
        )
    ]
    (found,) = comments(connection, [database])
    beside = sorted(each for each in found if each[:3] != ("view", *VIEW.split(".")))
    ((version,),) = connection.execute(
        f"SELECT library_version FROM {identifier(database)}.priv.release"
    ).fetchall()
    return json.dumps(
        {
            "release": release,
            "library": version,
            "rows": rows_digest(connection, database, release),
            "catalog": catalog_digest(connection, database),
            "objects": digest_of_texts([*written, *map(json.dumps, beside)]),
            "card": digest_of_texts([html]),
        }
    )


def sign_file(place: Path, release: str, html: str, key: SigningKey) -> Signature:
    """Sign a release file that no process has open, and store the signature in it."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute(f"ATTACH {literal(str(place))} AS signed")
        defined = definitions(connection, "signed", Path(folder))
        made = key.sign(signed_text(connection, "signed", release, html, defined))
        connection.execute("USE signed")
        for statement in made.statements:
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH signed")
    return made


def default_place() -> Path:
    """Return the default path of the signing key."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "duckdb_priv" / "signing.key"


def new_key(place: Path) -> SigningKey:
    """Make a key, write it to a file that only its owner can read, and write the public key to ``<name>.pub``.

    Raises InvalidParameter if the file exists.
    """
    made = SigningKey(Ed25519PrivateKey.generate())
    public = place.with_name(f"{place.name}.pub")
    pem = made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_for_owner(place, pem, "a key")
    public.write_bytes(
        made.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return made


def signing_key(file: str | None) -> SigningKey:
    """Return the signing key: from the given file, the file in the environment variable, or the default path.

    Raises InvalidParameter if the file is missing, other users can read it, or it has no private Ed25519 key.
    """
    named = file or os.environ.get(VARIABLE)
    place = Path(named) if named else default_place()
    try:
        pem = read_for_owner(place, "a key to sign with")
    except OSError as error:
        raise InvalidParameter(
            f"there is no key to sign with in {echoed(str(place))}: {str(error.strerror).lower()}",
            hint=f"duckdb-priv key new makes one; name it by key_file := 'hospital.key' or ${VARIABLE}",
        ) from None
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidParameter(
            f"{echoed(str(place))} holds no private Ed25519 key that signs without a password",
            hint="duckdb-priv key new makes one",
        )
    return SigningKey(key)


def public_key(given: str | Path | bytes) -> str:
    """Return a public key in base64. The argument is a file, or the key in PEM, in base64 or as 32 bytes.

    >>> public_key(bytes(32)) == public_key("A" * 43 + "=")
    True
    >>> public_key("nowhere.pub")
    Traceback (most recent call last):
    ...
    duckdb_priv.errors.InvalidParameter: 'nowhere.pub' is neither a public Ed25519 key nor a file with one
    Hint: give the .pub file that duckdb-priv key new wrote, or what is in it
    """
    data = given if isinstance(given, bytes) else str(given).encode()
    if (
        not isinstance(given, bytes)
        and b"\n" not in data
        and b"\0" not in data
        and Path(given).is_file()
    ):
        data = Path(given).read_bytes()
    if len(data) != KEY_BYTES:
        data = _raw(data.strip())
    if len(data) != KEY_BYTES:
        raise InvalidParameter(
            f"{echoed(str(given))} is neither a public Ed25519 key nor a file with one",
            hint="give the .pub file that duckdb-priv key new wrote, or what is in it",
        )
    return base64.b64encode(data).decode()


def _raw(data: bytes) -> bytes:
    if data.startswith(b"-----BEGIN PRIVATE"):
        raise InvalidParameter(
            "this is a private key, which signs and is never handed out",
            hint="give the public one, beside it in the file that ends in .pub",
        )
    try:
        if data.startswith(b"-----"):
            key = load_pem_public_key(data)
            if isinstance(key, Ed25519PublicKey):
                return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error, UnsupportedAlgorithm):
        return b""

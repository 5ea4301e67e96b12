"""The only source of randomness: 64 or 128 uniform bits per record, keyed or fresh.

Keyed bits are AES-256 in CBC-MAC mode over (record id, code of the true value), under a key derived
from the secret and from everything else that defines the noise: attribute, mechanism, parameters, domain.
The message starts with its own length, so no message is a prefix of another, and CBC-MAC of such messages
is a pseudorandom function (Petrank and Rackoff 2000). Without the true value or the parameters in the key, two releases
could be compared: a change of the shown value, or none, would reveal a retained record.

Fresh bits come from the operating system.

Plans for a table as a whole draw words from keyed streams (``KeyedWords``).
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import os
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from duckdb_priv.errors import InvalidParameter

SECRET_BYTES = 32
BLOCK = 16
"""Bytes in a block of AES."""
INTEGER_MARK = np.uint32(0xFFFFFFFF)
"""Replaces the length of a text in the first block of an integer id; no text is that long."""
HEAD = 8
"""Bytes of the record id that fit in the first block, after the length and the code."""


def new_secret() -> bytes:
    """Return 256 bits from the operating system."""
    return os.urandom(SECRET_BYTES)


def check_secret(secret: bytes) -> bytes:
    """Refuse a secret of the wrong type or length, without showing it."""
    if not isinstance(secret, bytes) or len(secret) != SECRET_BYTES:
        raise InvalidParameter(
            f"a secret is {SECRET_BYTES} bytes, got {type(secret).__name__} of another form",
            hint="make one with secrets.token_bytes(32) and keep it where your other keys are kept",
        )
    return secret


def fingerprint(secret: bytes, context: str = "") -> str:
    """Return a text that identifies a source of bits and reveals nothing else: 128 bits of HMAC-SHA256.

    >>> fingerprint(bytes(32), "a") == fingerprint(bytes(32), "b")
    False
    """
    return hmac.new(secret, b"fingerprint\0" + context.encode(), hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True)
class KeyedBits:
    """Two words of 64 bits that are a pure function of (secret, context, record id, code): the halves of a block.

    ``context`` names everything that is the same for all records of one perturbed attribute.
    """

    key: bytes = field(repr=False)

    @classmethod
    def derive(cls, secret: bytes, context: str) -> KeyedBits:
        """Derive the key of one context (HKDF-SHA256, RFC 5869)."""
        hkdf = HKDF(SHA256(), length=SECRET_BYTES, salt=None, info=b"bits\0" + context.encode())
        return cls(hkdf.derive(check_secret(secret)))

    def draw_for_integers(
        self, ids: NDArray[np.int64], codes: NDArray[np.uint32]
    ) -> NDArray[np.uint64]:
        """Return two words per record whose id is an integer: one block, of a length that no text has.

        >>> bits = KeyedBits.derive(bytes(32), "demonstration")
        >>> words = bits.draw_for_integers(np.array([7, 7]), np.array([0, 1], dtype=np.uint32))
        >>> words.shape, len(np.unique(words))
        ((2, 2), 4)
        """
        blocks = np.empty((len(codes), BLOCK // 4), dtype="<u4")
        blocks[:, 0] = INTEGER_MARK
        blocks[:, 1] = codes
        blocks.view("<i8")[:, 1] = ids
        return _words(self._encrypt(blocks.view(np.uint8)))

    def draw_for_texts(
        self, ids: NDArray[np.uint8], offsets: NDArray[np.int64], codes: NDArray[np.uint32]
    ) -> NDArray[np.uint64]:
        """Return two words per record whose id is a text.

        ``ids`` holds the bytes of all record ids; record i has ``ids[offsets[i]:offsets[i + 1]]``. ``codes`` are the
        positions of the true values in the domain.

        >>> bits = KeyedBits.derive(bytes(32), "demonstration")
        >>> ids = np.frombuffer(b"aab", dtype=np.uint8)
        >>> words = bits.draw_for_texts(ids, np.array([0, 1, 2, 3]), np.array([0, 0, 0], dtype=np.uint32))
        >>> bool((words[0] == words[1]).all()), bool((words[0] == words[2]).any())
        (True, False)
        """
        count = len(codes)
        lengths = np.diff(offsets)
        blocks = np.zeros((count, BLOCK), dtype=np.uint8)
        blocks[:, 0:4] = lengths.astype("<u4").view(np.uint8).reshape(count, 4)
        blocks[:, 4:8] = codes.astype("<u4").view(np.uint8).reshape(count, 4)
        _copy(ids, offsets[:-1], np.minimum(lengths, HEAD), blocks, column=BLOCK - HEAD)
        state = self._encrypt(blocks)
        rest = np.flatnonzero(lengths > HEAD)
        done = HEAD
        while len(rest):
            blocks = np.zeros((len(rest), BLOCK), dtype=np.uint8)
            take = np.minimum(lengths[rest] - done, BLOCK)
            _copy(ids, offsets[rest] + done, take, blocks, column=0)
            state[rest] = self._encrypt(blocks ^ state[rest])
            done += BLOCK
            rest = rest[lengths[rest] > done]
        return _words(state)

    def _encrypt(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
        encryptor = Cipher(algorithms.AES(self.key), modes.ECB()).encryptor()
        # The library needs a buffer with one more block, which it never fills.
        encrypted = np.empty(blocks.size + BLOCK - 1, np.uint8)
        encryptor.update_into(blocks.reshape(-1).data, encrypted.data)
        return encrypted[: blocks.size].reshape(-1, BLOCK)


def _words(blocks: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return blocks.view("<u8").astype(np.uint64, copy=False)


def _copy(
    source: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    target: NDArray[np.uint8],
    column: int,
) -> None:
    """Copy ``lengths[i]`` bytes from ``source[starts[i]:]`` into ``target[i, column:]``."""
    width = int(lengths.max(initial=0))
    within = np.arange(width)
    valid = within < lengths[:, None]
    positions = (starts[:, None] + within)[valid]
    target[:, column : column + width][valid] = source[positions]


@dataclass(frozen=True)
class FreshBits:
    """64 bits from the operating system, different at every call."""

    def draw(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` independent words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class KeyedWords:
    """Streams of 64-bit words that are a pure function of (key, stream): AES-256 in counter mode."""

    key: bytes = field(repr=False)

    @classmethod
    def derive(cls, secret: bytes, context: str) -> KeyedWords:
        """Derive the key of one context (HKDF-SHA256, RFC 5869)."""
        hkdf = HKDF(SHA256(), length=SECRET_BYTES, salt=None, info=b"words\0" + context.encode())
        return cls(hkdf.derive(check_secret(secret)))

    def __call__(self, stream: int, count: int) -> NDArray[np.uint64]:
        """Return the first ``count`` words of a stream; streams have no block in common.

        >>> words = KeyedWords.derive(bytes(32), "demonstration")
        >>> bool((words(0, 3) == words(0, 4)[:3]).all()), bool((words(0, 3) == words(1, 3)).any())
        (True, False)
        """
        start = stream.to_bytes(8, "big") + bytes(8)
        encryptor = Cipher(algorithms.AES(self.key), modes.CTR(start)).encryptor()
        return np.frombuffer(encryptor.update(bytes(8 * count)), "<u8").astype(np.uint64)


_streams: dict[int, KeyedBits | FreshBits] = {}
_numbers = itertools.count(1)


def open_stream(bits: KeyedBits | FreshBits) -> int:
    """Register a source of bits and return its number; SQL uses the number and never contains a key."""
    number = next(_numbers)
    _streams[number] = bits
    return number


def stream(number: int) -> KeyedBits | FreshBits:
    """Return the source of bits with this number."""
    return _streams[number]


def close_stream(number: int) -> None:
    """Unregister a source of bits."""
    _streams.pop(number, None)

"""Keyed bits against an implementation of their definition that shares nothing with them."""

from __future__ import annotations

import hashlib
import hmac
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from duckdb_priv.engine import randomness, udfs
from duckdb_priv.engine.randomness import FreshBits, KeyedBits
from duckdb_priv.errors import InvalidParameter, InvalidSource

KEY = bytes(range(32))


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def plain_words(key: bytes, record_id: int | bytes, code: int) -> list[int]:
    """CBC-MAC over (length or mark, code, record id), block by block, as its description says."""
    if isinstance(record_id, int):
        head, content = b"\xff\xff\xff\xff", record_id.to_bytes(8, "little", signed=True)
    else:
        head, content = len(record_id).to_bytes(4, "little"), record_id
    message = head + code.to_bytes(4, "little") + content
    message += bytes(-len(message) % 16)
    state = bytes(16)
    for start in range(0, len(message), 16):
        block = message[start : start + 16]
        state = aes(key, bytes(a ^ b for a, b in zip(block, state, strict=True)))
    return [int.from_bytes(half, "little") for half in (state[:8], state[8:])]


def plain_key(secret: bytes, context: str) -> bytes:
    """HKDF-SHA256 (RFC 5869) without salt, for one block of output."""
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    return hmac.new(extracted, b"bits\0" + context.encode() + b"\x01", hashlib.sha256).digest()


def words_of_texts(bits: KeyedBits, ids: list[bytes], codes: list[int]) -> list[list[int]]:
    offsets = np.cumsum([0, *map(len, ids)]).astype(np.int64)
    content = np.frombuffer(b"".join(ids), dtype=np.uint8)
    return bits.draw_for_texts(content, offsets, np.array(codes, np.uint32)).tolist()


def words_of_integers(bits: KeyedBits, ids: list[int], codes: list[int]) -> list[list[int]]:
    return bits.draw_for_integers(np.array(ids, np.int64), np.array(codes, np.uint32)).tolist()


def test_the_cipher_is_the_aes_of_the_standard():
    """FIPS 197, appendix C.3, through the same call that the bits make."""
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    encrypted = KeyedBits(KEY)._encrypt(np.frombuffer(block, np.uint8).reshape(1, 16))
    assert encrypted.tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


@pytest.mark.parametrize("context", ["", "demonstration", "Krankheit: 'Grippe' 🤧"])
def test_the_key_of_a_context_is_that_of_rfc_5869(context):
    assert KeyedBits.derive(KEY, context).key == plain_key(KEY, context)


TEXTS = [
    b"",
    b"7",
    b"1234567",
    b"12345678",
    b"123456789",
    b"a" * 23,
    b"a" * 24,
    b"a" * 25,
    b"a" * 40,
    b"a" * 41,
    b"a" * 1000,
    "Zoë Müller".encode(),
    "🧑‍⚕️ 王小明".encode(),
    b"\0",
    b"\0\0",
]


@pytest.mark.parametrize("record_id", TEXTS, ids=lambda text: f"{len(text)} bytes")
@pytest.mark.parametrize("code", [0, 1, 2**32 - 1])
def test_words_of_texts_are_the_cbc_mac_of_the_message(record_id, code):
    assert words_of_texts(KeyedBits(KEY), [record_id], [code]) == [
        plain_words(KEY, record_id, code)
    ]


@pytest.mark.parametrize("record_id", [0, 1, -1, 7, 2**31, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("code", [0, 1, 2**32 - 1])
def test_words_of_integers_are_the_cbc_mac_of_the_message(record_id, code):
    assert words_of_integers(KeyedBits(KEY), [record_id], [code]) == [
        plain_words(KEY, record_id, code)
    ]


def test_texts_of_all_lengths_at_once_are_what_they_are_alone():
    codes = list(range(len(TEXTS)))
    expected = [plain_words(KEY, text, code) for text, code in zip(TEXTS, codes, strict=True)]
    assert words_of_texts(KeyedBits(KEY), TEXTS, codes) == expected


def test_no_records_get_no_words():
    assert words_of_texts(KeyedBits(KEY), [], []) == []
    assert words_of_integers(KeyedBits(KEY), [], []) == []


def test_whatever_differs_changes_the_words():
    """Words are a function of secret, context, record id, its kind, and code: of each of them."""
    same = KeyedBits.derive(KEY, "context")
    words = [
        *words_of_integers(same, [7, 8], [0, 0]),
        *words_of_integers(same, [7], [1]),
        *words_of_texts(same, [b"7", b"\x07", b"\x07" + bytes(7), b"7\0"], [0, 0, 0, 0]),
        *words_of_integers(KeyedBits.derive(KEY, "contexts"), [7], [0]),
        *words_of_integers(KeyedBits.derive(bytes(32), "context"), [7], [0]),
    ]
    assert len({word for pair in words for word in pair}) == 2 * len(words)


def test_a_fingerprint_tells_contexts_and_secrets_apart_and_hides_both():
    marks = {
        randomness.fingerprint(secret, context)
        for secret in (KEY, bytes(32))
        for context in ("", "a", "b")
    }
    assert len(marks) == 6
    assert all(len(mark) == 32 for mark in marks)
    assert KeyedBits.derive(KEY, "a").key.hex()[:32] not in marks


@pytest.mark.parametrize("secret", ["x" * 32, b"x" * 31, b"x" * 33, b"", None, bytearray(32)])
def test_a_secret_of_another_form_is_refused_and_not_shown(secret):
    with pytest.raises(InvalidParameter, match="a secret is 32 bytes") as caught:
        KeyedBits.derive(secret, "")
    assert "xxx" not in str(caught.value)


def test_fresh_bits_differ_from_call_to_call():
    first, second = FreshBits().draw(1000), FreshBits().draw(1000)
    assert len({*first.tolist(), *second.tolist()}) == 2000


def test_new_secrets_differ():
    assert len({randomness.new_secret() for _ in range(100)}) == 100


def test_a_closed_stream_is_forgotten():
    number = randomness.open_stream(KeyedBits(KEY))
    assert randomness.stream(number) == KeyedBits(KEY)
    randomness.close_stream(number)
    with pytest.raises(KeyError):
        randomness.stream(number)
    randomness.close_stream(number)


@pytest.fixture
def keyed():
    number = randomness.open_stream(KeyedBits(KEY))
    yield number
    randomness.close_stream(number)


@pytest.fixture
def fresh():
    number = randomness.open_stream(FreshBits())
    yield number
    randomness.close_stream(number)


def arguments(stream, numbers, texts, codes, cuts=()):
    """Columns as DuckDB hands them over, in pieces that begin at the cuts."""
    columns = (
        pa.array([stream] * len(codes), pa.uint64()),
        pa.array(numbers, pa.int64()),
        pa.array(texts, pa.string()),
        pa.array(codes, pa.uint32()),
    )
    bounds = [0, *cuts, len(codes)]
    return [pa.chunked_array([column[a:b] for a, b in pairwise(bounds)]) for column in columns]


def drawn(columns) -> list[list[int]]:
    """Return the two words of each record, of which one is what _priv_bits gives."""
    streams, numbers, texts, codes = columns
    anything = pa.chunked_array([pa.array([0] * len(codes), pa.uint32())])
    random_bits = udfs.random_bits(streams, *columns).to_pylist()
    for name, kept in (("first_half", codes), ("mark", anything)):
        assert udfs.bits(streams, numbers, texts, kept).to_pylist() == [
            each[name] for each in random_bits
        ]
    return [[each["first_half"], each["second_half"]] for each in random_bits]


@pytest.mark.parametrize("cuts", [(), (1,), (5,), (3, 7, 11), tuple(range(1, len(TEXTS)))])
def test_pieces_begin_anywhere_without_consequence(keyed, cuts):
    texts = [text.decode() for text in TEXTS]
    codes = list(range(len(texts)))
    nothing = [None] * len(texts)
    whole = [plain_words(KEY, text, code) for text, code in zip(TEXTS, codes, strict=True)]
    assert drawn(arguments(keyed, nothing, texts, codes, cuts)) == whole
    numbers = [plain_words(KEY, number, number) for number in codes]
    assert drawn(arguments(keyed, codes, nothing, codes, cuts)) == numbers


def test_a_slice_of_a_column_is_read_from_where_it_begins(keyed):
    """Arrow slices share their buffers with the whole, so offsets do not start at zero."""
    texts = [text.decode() for text in TEXTS]
    columns = arguments(keyed, [None] * 15, texts, list(range(15)))
    part = drawn([column.slice(4, 6) for column in columns])
    assert part == [plain_words(KEY, TEXTS[code], code) for code in range(4, 10)]


@pytest.mark.parametrize(
    ("numbers", "texts", "codes"),
    [
        ([1, None], [None, None], [0, 0]),
        ([None, None], ["a", None], [0, 0]),
        ([1, 2], [None, None], [0, None]),
        ([1, None], ["a", "b"], [0, None]),
    ],
)
def test_a_record_without_id_or_value_gets_no_keyed_bits(keyed, numbers, texts, codes):
    with pytest.raises(InvalidSource, match="has no noise"):
        udfs.bits(*arguments(keyed, numbers, texts, codes))


def test_equal_records_get_different_fresh_bits(fresh):
    words = udfs.bits(*arguments(fresh, [None] * 2048, [None] * 2048, [0] * 2048)).to_pylist()
    assert len(set(words)) == 2048


def test_a_new_secret_is_made_for_every_row():
    made = udfs.new_secret(pa.chunked_array([[1, 1, 1]])).to_pylist()
    assert len(set(made)) == 3
    assert {len(secret) for secret in made} == {32}

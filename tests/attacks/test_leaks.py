"""Looking for what must not be there: in the bytes of a release, in plans, profiles, logs and errors."""

from __future__ import annotations

import base64
import shutil
import traceback
from collections.abc import Callable
from functools import cache
from itertools import cycle
from pathlib import Path

import duckdb
import pytest

import duckdb_priv
from duckdb_priv.engine import randomness

MECHANISMS = (
    "uniform", "fine_grain", "matrix", "reconstruction_private", "splu", "shuffled", "block_design"
)  # fmt: skip
GROUPING = ("reconstruction_private", "splu")
"""Those that group records, and need to know where another one has grouped them."""
PRIVATE_NAMES = ("hospital_stays", "patient_number", "private_note")
PRIVATE_VALUES = ("IDENT-", "EXCLUDED-")
ROWS = 3_000


def signs_of(connection: duckdb.DuckDBPyConnection, secret: bytes) -> dict[str, bytes]:
    """What to look for: identifiers, names of the source, and the secret in every form that it could take."""
    fingerprint, key = connection.execute("SELECT fingerprint, key FROM priv.secret").fetchall()[0]
    random_bits = connection.execute("SELECT DISTINCT coins FROM priv.ledger").fetchall()
    blob = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in "\\'\"" else f"\\x{byte:02X}"
        for byte in secret
    )
    assert key is None or key == secret
    return {
        **{text: text.encode() for text in (*PRIVATE_NAMES, *PRIVATE_VALUES)},
        "secret": secret,
        "secret in hex": secret.hex().encode(),
        "secret in base64": base64.b64encode(secret),
        "secret as a BLOB is shown": blob.encode(),
        "secret as Python shows it": repr(secret)[2:-1].encode(),
        "fingerprint of the secret": fingerprint.encode(),
        **{
            f"fingerprint of coins {number}": text.encode()
            for number, (text,) in enumerate(random_bits)
        },
    }


def found(content: bytes, signs: dict[str, bytes]) -> set[str]:
    content = content.lower()
    return {name for name, sign in signs.items() if sign.lower() in content}


PLACES = ("kept in the database", "kept by the caller")


@pytest.fixture(params=PLACES)
def secret(request, caller_secret) -> bytes | None:
    return None if request.param == "kept in the database" else caller_secret


@pytest.fixture(scope="module")
def file_of(tmp_path_factory, fill_with_persons) -> Callable[[bytes | None], Path]:
    """A publisher's database on disk from which nothing is published yet, by its secret."""
    folder = tmp_path_factory.mktemp("filed")

    @cache
    def make(secret: bytes | None) -> Path:
        path = folder / f"{'kept' if secret is None else 'given'}.duckdb"
        with duckdb_priv.connect(path, secret=secret) as connection:
            # What is compressed is not found by its bytes.
            connection.execute("SET force_compression = 'uncompressed'")
            fill_with_persons(connection, ROWS)
        return path

    return make


@pytest.fixture
def filed(tmp_path: Path, secret: bytes | None, file_of):
    """A copy of it, and the secret."""
    shutil.copy(file_of(secret), tmp_path / "publisher.duckdb")
    connection = duckdb_priv.connect(tmp_path / "publisher.duckdb", secret=secret)
    connection.execute("SET force_compression = 'uncompressed'")
    kept = connection.execute("SELECT key FROM priv.secret").fetchall()[0][0]
    yield connection, secret or bytes(kept)
    connection.close()


def publish(connection, mechanism_arguments, mechanism, release="public_stays"):
    connection.execute(
        f"FROM priv.publish_{mechanism}('hospital_stays', '{release}', sensitive := 'disease',"
        f" record_id := 'patient_number', exclude := ['private_note'], {mechanism_arguments})"
    ).fetchall()


@pytest.mark.parametrize(
    ("secret", "mechanism"),
    [(PLACES[1], "uniform"), *zip(cycle(PLACES), MECHANISMS)],
    indirect=["secret"],
)
def test_nothing_private_is_in_the_bytes_of_a_release_file(
    filed, tmp_path, mechanism, arguments_of
):
    """Where the secret is kept does not tell a mechanism anything: each is tried with one of both places."""
    connection, secret = filed
    publish(connection, arguments_of[mechanism], mechanism)
    path = tmp_path / "release.duckdb"
    connection.execute("FROM priv.export_release('public_stays', ?)", [str(path)]).fetchall()
    assert found(path.read_bytes(), signs_of(connection, secret)) == set()
    assert found(all_text(path), signs_of(connection, secret)) == set()


def test_nothing_private_is_in_the_bytes_of_a_parquet_release(filed, tmp_path, arguments_of):
    connection, secret = filed
    publish(connection, arguments_of["uniform"], "uniform")
    folder = tmp_path / "release"
    connection.execute(
        "FROM priv.export_release('public_stays', ?, format := 'parquet')", [str(folder)]
    ).fetchall()
    signs = signs_of(connection, secret)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"data.parquet", "setup.sql", "release.parquet"}
    for path in files:
        assert found(path.read_bytes(), signs) == set(), path.name
    with duckdb.connect() as reader:
        for path in folder.rglob("*.parquet"):
            rows = reader.execute(f"SELECT columns(*)::VARCHAR FROM '{path}'").fetchall()
            assert found(repr(rows).encode(), signs) == set(), path.name


def all_text(path: Path) -> bytes:
    """Read every cell of every table, the text of every macro, view and comment: pages may be compressed."""
    with duckdb.connect(str(path), read_only=True) as reader:
        tables = reader.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
        ).fetchall()
        parts = [
            reader.execute(f'SELECT columns(*)::VARCHAR FROM "{schema}"."{table}"').fetchall()
            for schema, table in tables
        ]
        parts += [
            reader.execute(f"SELECT columns(*)::VARCHAR FROM {catalog}()").fetchall()
            for catalog in ("duckdb_tables", "duckdb_columns", "duckdb_views", "duckdb_constraints")
        ]
        parts.append(
            reader.execute(
                "SELECT columns(*)::VARCHAR FROM duckdb_functions() WHERE schema_name = 'priv'"
            ).fetchall()
        )
    return repr(parts).replace(str(path.parent), "").encode()


def test_the_search_finds_what_is_there(filed, tmp_path, arguments_of, secret):
    """The publisher's own file has all of it: a search that finds nothing anywhere proves nothing."""
    connection, key = filed
    publish(connection, arguments_of["uniform"], "uniform")
    connection.execute("CHECKPOINT")
    signs = signs_of(connection, key)
    seen = found((tmp_path / "publisher.duckdb").read_bytes(), signs)
    assert {*PRIVATE_NAMES, *PRIVATE_VALUES} <= seen
    assert ("secret" in seen) == (secret is None)
    assert "fingerprint of the secret" in seen


def test_plans_and_profiles_show_nothing_private(filed, tmp_path, arguments_of):
    connection, secret = filed
    call = (
        "FROM priv.publish_uniform('hospital_stays', 'release_{}', sensitive := 'disease',"
        " record_id := 'patient_number', exclude := ['private_note'], retention := 0.5)"
    )
    shown = [connection.execute(f"EXPLAIN {call.format(0)}").fetchall()]
    shown.append(connection.execute(f"EXPLAIN ANALYZE {call.format(1)}").fetchall())
    connection.execute("SET enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{tmp_path}/profile.json'")
    connection.execute(call.format(2)).fetchall()
    duckdb_priv.install(connection)
    connection.execute("SET enable_profiling = 'no_output'")
    shown.append((tmp_path / "profile.json").read_text())
    shown.append(connection.execute("SELECT columns(*)::VARCHAR FROM duckdb_settings()").fetchall())
    seen = found(repr(shown).encode(), signs_of(connection, secret))
    # What the caller wrote may be shown to the caller.
    assert seen <= set(PRIVATE_NAMES)


def test_logs_show_nothing_private(tmp_path, secret, fill_with_persons, arguments_of):
    """Logging is on before the secret is made."""
    with duckdb.connect(str(tmp_path / "publisher.duckdb")) as connection:
        connection.execute("CALL enable_logging()")
        connection.execute("SET logging_level = 'trace'")
        duckdb_priv.install(connection, secret=secret)
        fill_with_persons(connection, ROWS)
        # The statements that make the test's own table may be logged as they are.
        connection.execute("CALL truncate_duckdb_logs()")
        duckdb_priv.install(connection, secret=secret)
        # Where the secret is kept does not tell a mechanism anything: each is tried with one of both places.
        for mechanism in MECHANISMS[secret is None :: 2]:
            again = ", replace := true" + (", republish := true" if mechanism in GROUPING else "")
            publish(connection, arguments_of[mechanism] + again, mechanism, "release_again")
        publish(connection, arguments_of["uniform"], "uniform", "release_uniform")
        connection.execute(
            "FROM priv.export_release('release_uniform', ?)", [str(tmp_path / "release.duckdb")]
        ).fetchall()
        connection.execute("FROM priv.audit('release_uniform')").fetchall()
        log = connection.execute("SELECT columns(*)::VARCHAR FROM duckdb_logs").fetchall()
        assert any("publish_uniform" in str(line) for line in log)
        kept = connection.execute("SELECT key FROM priv.secret").fetchall()[0][0]
        seen = found(repr(log).encode(), signs_of(connection, secret or bytes(kept)))
        assert seen <= {*PRIVATE_NAMES}


def test_the_first_install_logs_no_secret():
    with duckdb.connect() as connection:
        connection.execute("CALL enable_logging()")
        connection.execute("SET logging_level = 'trace'")
        duckdb_priv.install(connection)
        log = connection.execute("SELECT columns(*)::VARCHAR FROM duckdb_logs").fetchall()
        (key,) = connection.execute("SELECT key FROM priv.secret").fetchall()[0]
        signs = {name: sign for name, sign in signs_of(connection, key).items() if "secret" in name}
        assert found(repr(log).encode(), signs) == set()


def test_keys_are_not_shown_by_what_holds_them(caller_secret):
    for holder in (randomness.KeyedBits, randomness.KeyedWords):
        derived = holder.derive(caller_secret, "context")
        assert repr(derived.key) not in repr(derived)
        assert derived.key.hex() not in repr(derived)


def test_a_wrong_secret_is_refused_without_being_shown(tmp_path, caller_secret):
    path = tmp_path / "publisher.duckdb"
    duckdb_priv.connect(path, secret=caller_secret).close()
    wrong = bytes(reversed(caller_secret))
    for given in (wrong, wrong[:16], wrong.hex()):
        with pytest.raises(duckdb_priv.PrivError) as caught:
            duckdb_priv.connect(path, secret=given)
        reported = "".join(traceback.format_exception_only(caught.value))
        for secret in (caller_secret, wrong):
            assert repr(secret)[2:-1] not in reported
            assert secret.hex() not in reported
            assert secret.hex()[:16] not in reported

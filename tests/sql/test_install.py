"""Installing: idempotent, on any connection, loud if something else has its name."""

from __future__ import annotations

import importlib
import shutil
import threading

import duckdb
import pytest
from answers import rows

import duckdb_priv
from duckdb_priv import PrivError
from duckdb_priv.errors import InvalidParameter, NotInstalled

PEOPLE = "CREATE TABLE people AS SELECT i AS id, i AS seat, i % 3 AS s FROM range(300) AS t(i)"
"""Published with their seats: what 300 people show under two secrets differs, their histograms need not."""

PUBLISH = (
    "FROM priv.publish_uniform('people', '{}', sensitive := 's', retention := 0.5, record_id := 'id',"
    " public := ['seat'])"
)


@pytest.fixture
def hospital(prepared_file, tmp_path):
    """A file that was prepared, and has no secret yet."""
    return shutil.copy(prepared_file, tmp_path / "hospital.duckdb")


def functions(connection):
    return sorted(
        connection.execute(
            "SELECT database_name, schema_name, function_name, function_type FROM duckdb_functions()"
        ).fetchall()
    )


def test_installing_again_changes_nothing(con, inventory):
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    before, known = inventory(con), functions(con)
    duckdb_priv.install(con)
    duckdb_priv.install(con.cursor())
    assert inventory(con) == before
    assert functions(con) == known


def test_opening_a_file_again_keeps_secret_catalog_and_releases(tmp_path, inventory):
    path = tmp_path / "hospital.duckdb"
    with duckdb_priv.connect(path) as first:
        first.execute(PEOPLE)
        first.execute(PUBLISH.format("r"))
        before = inventory(first)
    with duckdb_priv.connect(path) as second:
        assert inventory(second) == before
        second.execute(PUBLISH.format("again"))
        assert rows(second, "FROM r EXCEPT ALL FROM again") == []


def break_by_hand(connection):
    """Drop a macro of the publisher's, and replace one of the analyst's."""
    connection.execute("DROP MACRO TABLE priv.ledger")
    connection.execute(
        "CREATE OR REPLACE MACRO priv.reconstructed_count(_release, _column, _value, weight := NULL) AS 0"
    )


def test_installing_again_mends_macros_that_were_dropped_or_replaced(inventory):
    with duckdb_priv.connect() as connection:
        connection.execute(PEOPLE)
        connection.execute(PUBLISH.format("r"))
        before = inventory(connection)
        break_by_hand(connection)
        assert inventory(connection) != before
        duckdb_priv.install(connection.cursor())
        assert inventory(connection) == before


def new_file(path, storage):
    """Make a database in a storage format of one's choice."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS made (STORAGE_VERSION '{storage}')")
    return path


def test_macros_are_whole_whatever_the_storage_format(tmp_path):
    """DuckDB forgets that a step of a macro is MATERIALIZED when it writes a file in an old format."""
    steps = (
        "SELECT function_name, len(regexp_extract_all(macro_definition, 'AS MATERIALIZED'))"
        " FROM duckdb_functions() WHERE schema_name = 'priv' ORDER BY ALL"
    )
    with duckdb_priv.connect() as connection:
        whole = rows(connection, steps)
    assert dict(whole)["publish_uniform"] == 6
    for storage in ("v1.0.0", "v1.2.0", "v1.3.0", "v1.4.0", "v1.5.0"):
        path = new_file(tmp_path / f"{storage}.duckdb", storage)
        for _ in range(2):
            with duckdb_priv.connect(path) as connection:
                assert rows(connection, steps) == whole


@pytest.mark.once
@pytest.mark.parametrize("change", ["version", "text"])
def test_macros_of_another_version_are_created_again(tmp_path, inventory, monkeypatch, change):
    """What an older library wrote is replaced at the first installation of a newer one."""
    path = new_file(tmp_path / "hospital.duckdb", "v1.5.0")
    with duckdb_priv.connect(path) as connection:
        macros = inventory(connection)["macros"]
        break_by_hand(connection)
    with duckdb_priv.connect(path) as connection:
        assert inventory(connection)["macros"] != macros
    module = importlib.import_module("duckdb_priv.database")
    if change == "version":
        monkeypatch.setattr(module, "__version__", "99.0.0")
    else:
        monkeypatch.setattr(module.templates, "everything", lambda folder: ["SELECT 1"])
    with duckdb_priv.connect(path) as connection:
        assert inventory(connection)["macros"] == macros
        marks = "SELECT name FROM priv.migration WHERE starts_with(name, 'macros ')"
        assert rows(connection, marks) == [(module.mark(),)]


def test_a_prepared_database_in_a_new_instance_is_only_read(tmp_path):
    path = new_file(tmp_path / "hospital.duckdb", "v1.5.0")
    duckdb_priv.connect(path, secret=bytes(range(100, 132))).close()
    before = path.read_bytes()
    with duckdb_priv.connect(path, secret=bytes(range(100, 132))) as connection:
        assert rows(connection, "SELECT count(*) FROM priv.ledger()") == [(0,)]
        assert not path.with_name("hospital.duckdb.wal").exists()
    assert path.read_bytes() == before


@pytest.mark.once
def test_every_database_has_a_secret_of_its_own_and_keeps_no_other_trace_of_it():
    secrets = set()
    for _ in range(3):
        with duckdb_priv.connect() as connection:
            ((key, mark),) = rows(connection, "SELECT key, fingerprint FROM priv.secret")
            secrets.add(key)
            assert len(key) == 32
            assert key.hex()[:16] not in mark
    assert len(secrets) == 3


def test_a_plain_connection_installs_in_memory_on_a_file_and_elsewhere(tmp_path):
    for path in (":memory:", str(tmp_path / "we\"ird 'name'.duckdb")):
        with duckdb.connect(path) as connection:
            connection.execute("CREATE SCHEMA mine; USE mine")
            connection.execute(PEOPLE)
            duckdb_priv.install(connection)
            connection.execute(PUBLISH.format("r"))
            assert rows(connection, "SELECT count(*) FROM main.r") == [(300,)]
            assert rows(
                connection, "SELECT priv.reconstructed_count('r', noisy_s, 1) > 0 FROM main.r"
            )
            assert rows(
                connection, "SELECT schema_name FROM duckdb_tables() WHERE table_name = 'people'"
            ) == [("mine",)]


def test_an_attached_database_has_a_catalog_and_a_secret_of_its_own(con, tmp_path):
    con.execute(f"ATTACH '{tmp_path / 'b.duckdb'}' AS b; USE b")
    duckdb_priv.install(con)
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    assert rows(con, "SELECT release FROM b.priv.release") == [("r",)]
    assert rows(con, "SELECT release FROM memory.priv.release") == []
    marks = rows(
        con,
        "SELECT fingerprint FROM b.priv.secret UNION FROM (SELECT fingerprint FROM memory.priv.secret)",
    )
    assert len(marks) == 2
    con.execute("USE memory")
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    assert rows(con, "SELECT count(*) FROM (FROM memory.r EXCEPT ALL FROM b.r)") != [(0,)]


@pytest.mark.once
def test_a_given_secret_does_not_pass_to_a_database_of_the_same_name(
    con, prepared_file, tmp_path, secret
):
    """Two files attached under one name, one after the other; only the first was given a secret."""
    for name in ("one", "two"):
        shutil.copy(prepared_file, tmp_path / f"{name}.duckdb")
    con.execute(f"ATTACH '{tmp_path / 'one.duckdb'}' AS b; USE b")
    duckdb_priv.install(con, secret=secret)
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    first = rows(con, "FROM r")
    con.execute("USE memory; DETACH b")
    con.execute(f"ATTACH '{tmp_path / 'two.duckdb'}' AS b; USE b")
    duckdb_priv.install(con)
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    assert rows(con, "FROM r") != first
    con.execute("USE memory")


def test_cursors_and_further_connections_publish_too(hospital):
    path = str(hospital)
    with duckdb_priv.connect(path) as first, duckdb.connect(path) as second:
        first.execute(PEOPLE)
        with first.cursor() as cursor:
            cursor.execute(PUBLISH.format("by_cursor"))
        second.execute(PUBLISH.format("by_second"))
        duckdb_priv.install(second)
        second.execute(PUBLISH.format("by_second_installed"))
        assert rows(first, "FROM by_cursor EXCEPT ALL FROM by_second") == []
        assert len(rows(second, "FROM priv.release")) == 3


@pytest.mark.once
def test_a_further_connection_publishes_after_the_first_is_closed(hospital):
    path = str(hospital)
    first = duckdb_priv.connect(path)
    with duckdb.connect(path) as second:
        second.execute(PEOPLE)
        duckdb_priv.install(second)
        first.close()
        second.execute(PUBLISH.format("r"))
        assert rows(second, "SELECT count(*) FROM r") == [(300,)]


def test_a_closed_connection_lets_go_of_its_file(hospital):
    duckdb_priv.connect(hospital).close()
    with duckdb.connect(str(hospital), config={"threads": 1}) as other:
        assert rows(other, "SELECT count(*) FROM priv.release") == [(0,)]


@pytest.mark.once
def test_many_install_at_once(tmp_path):
    path = str(tmp_path / "hospital.duckdb")
    errors: list[BaseException] = []
    with duckdb.connect(path) as anchor:

        def work(connection):
            try:
                duckdb_priv.install(connection)
            except BaseException as error:
                errors.append(error)

        cursors = [anchor.cursor() for _ in range(6)]
        threads = [threading.Thread(target=work, args=[cursor]) for cursor in cursors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert rows(anchor, "SELECT count(*) FROM priv.secret") == [(1,)]
        anchor.execute(PEOPLE)
        anchor.execute(PUBLISH.format("r"))


def refused(connection, words, **arguments):
    """Nothing is registered and nothing is created where an installation is refused."""
    known = functions(connection)
    tables = rows(connection, "SELECT database_name, schema_name, table_name FROM duckdb_tables()")
    with pytest.raises(PrivError, match=words) as caught:
        duckdb_priv.install(connection, **arguments)
    assert functions(connection) == known
    assert (
        rows(connection, "SELECT database_name, schema_name, table_name FROM duckdb_tables()")
        == tables
    )
    return caught.value


def test_a_read_only_database(tmp_path):
    path = tmp_path / "hospital.duckdb"
    duckdb.connect(str(path)).close()
    with duckdb.connect(str(path), read_only=True) as connection:
        error = refused(connection, "database 'hospital' is read-only")
        assert isinstance(error, NotInstalled)
    with pytest.raises(duckdb.Error):
        duckdb_priv.connect("/no/such/folder/hospital.duckdb")


@pytest.mark.once
def test_a_release_file(con, tmp_path):
    con.execute(PEOPLE)
    con.execute(PUBLISH.format("r"))
    path = tmp_path / "r.duckdb"
    con.execute("FROM priv.export_release('r', ?)", [str(path)])
    with duckdb.connect(str(path)) as release:
        error = refused(release, "the schema priv of 'r' is a release file")
        assert "publish from another database" in str(error)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("CREATE TABLE priv.notes (x INTEGER)", "is taken by other tables"),
        ("CREATE VIEW priv.notes AS SELECT 1 AS x", "is taken by other tables"),
        ("CREATE TABLE priv.migration (x INTEGER)", "is taken by other tables"),
        ("CREATE TABLE priv.release (x INTEGER)", "is taken by other tables"),
        ("CREATE MACRO priv.weight(x) AS x", "holds 'weight', which is not of duckdb_priv"),
        (
            "CREATE MACRO priv.notes() AS TABLE SELECT 1",
            "holds 'notes', which is not of duckdb_priv",
        ),
    ],
)
def test_a_schema_that_is_taken(made, words):
    with duckdb.connect() as connection:
        connection.execute(f"CREATE SCHEMA priv; {made}")
        refused(connection, f"the schema priv of 'memory' {words}")


def test_an_empty_schema_is_free():
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA priv")
        duckdb_priv.install(connection)
        assert rows(connection, "FROM priv.release") == []


SAME_SIGNATURE = {
    "_priv_instance": (lambda rows: rows, ["BIGINT"], "VARCHAR"),
    "_priv_new_secret": (lambda rows: rows, ["BIGINT"], "BLOB"),
}
"""Functions that would be called instead of ours."""


@pytest.mark.once
@pytest.mark.parametrize("name", SAME_SIGNATURE)
@pytest.mark.parametrize("kind", ["function", "macro"])
def test_a_function_name_that_is_taken_where_the_database_is_prepared(hospital, name, kind):
    with duckdb.connect(str(hospital)) as connection:
        if kind == "macro":
            connection.execute(f"CREATE MACRO {name}(x) AS x")
        else:
            function, types, returns = SAME_SIGNATURE[name]
            connection.create_function(name, function, types, returns, type="arrow")
        refused(
            connection, f"the function '{name}' exists and was not registered by this duckdb_priv"
        )


@pytest.mark.parametrize("name", ["_priv_bits", "_priv_instance", "_priv_anything"])
@pytest.mark.parametrize("kind", ["function", "macro"])
def test_a_function_name_that_is_taken(name, kind):
    with duckdb.connect() as connection:
        if kind == "macro":
            connection.execute(f"CREATE MACRO {name}(x) AS x")
        else:
            connection.create_function(name, lambda x: x, ["BIGINT"], "BIGINT", type="arrow")
        refused(
            connection, f"the function '{name}' exists and was not registered by this duckdb_priv"
        )


def test_a_catalog_of_a_newer_version(con, inventory):
    con.execute(
        "INSERT INTO priv.migration VALUES ('0999_from_the_future', TIMESTAMP '2030-01-01')"
    )
    before = inventory(con)
    with pytest.raises(
        NotInstalled, match="'0999_from_the_future' of a newer duckdb_priv"
    ) as caught:
        duckdb_priv.install(con)
    assert f"this is version {duckdb_priv.__version__}" in str(caught.value)
    assert inventory(con) == before


def test_a_migration_that_fails_leaves_neither_tables_nor_record(monkeypatch):
    from duckdb_priv.release import catalog

    definitions = catalog.table_definitions()
    definitions["ledger"] = "CREATE TABLE priv.ledger (x NO_SUCH_TYPE);"
    monkeypatch.setattr(catalog, "table_definitions", lambda: definitions)
    with duckdb.connect() as connection:
        with pytest.raises(duckdb.Error, match="NO_SUCH_TYPE"):
            duckdb_priv.install(connection)
        assert rows(connection, "FROM duckdb_tables()") == []
        monkeypatch.undo()
        duckdb_priv.install(connection)
        assert rows(connection, "SELECT count(*) FROM priv.migration") != [(0,)]


@pytest.mark.once
def test_the_migrations_make_the_catalog(con):
    """Its tables, with their comments, as the files in sql/catalog say."""
    from duckdb_priv.release import catalog

    made = (
        "SELECT table_name, column_name, t.sql, t.comment, c.comment, c.column_default"
        " FROM duckdb_tables() AS t JOIN duckdb_columns() AS c USING (table_oid, table_name)"
        " WHERE t.schema_name = 'priv' AND t.database_name = 'memory' AND table_name <> 'migration' ORDER BY ALL"
    )
    with duckdb.connect() as other:
        other.execute("CREATE SCHEMA priv")
        for definition in catalog.table_definitions().values():
            other.execute(definition)
        assert rows(other, made) == rows(con, made)


def test_every_migration_is_recorded_once(con):
    from duckdb_priv.sqltext import templates

    recorded = [name for (name,) in rows(con, "SELECT name FROM priv.migration ORDER BY name")]
    assert recorded[:-1] == templates.names("migrations")
    assert recorded[-1].startswith(f"macros {duckdb_priv.__version__} ")


@pytest.mark.parametrize(
    "nonsense",
    [
        "release (release, mechanism, parameters, domain_provenance, rows_published, created_at, library_version)"
        " VALUES ('', 'm', '{}', '{}', 1, TIMESTAMP '2026-01-01', '1')",
        "release (release, mechanism, parameters, domain_provenance, rows_published, created_at, library_version)"
        " VALUES ('r', 'm', '{}', '{}', -1, TIMESTAMP '2026-01-01', '1')",
        "attribute (release, attribute, role, type, column_name) VALUES ('r', 'a', 'secret', 'VARCHAR', 'a')",
        "coefficient (release, attribute, position, own) VALUES ('r', 'a', -1, 0.5)",
        "coefficient (release, attribute, position, own) VALUES ('r', 'a', 0, 1.5)",
        "secret (key, fingerprint, created_at) VALUES ('short'::BLOB, 'x', TIMESTAMP '2026-01-01')",
    ],
    ids=lambda sql: sql.split(")")[-2][-30:],
)
def test_the_catalog_refuses_nonsense(con, nonsense):
    with pytest.raises(duckdb.ConstraintException, match="CHECK"):
        con.execute(f"INSERT INTO priv.{nonsense}")


@pytest.mark.once
def test_a_secret_of_the_callers_is_never_stored(hospital):
    path, secret = hospital, bytes(range(100, 132))
    with duckdb_priv.connect(path, secret=secret) as first:
        first.execute(PEOPLE)
        first.execute(PUBLISH.format("r"))
        published = rows(first, "FROM r")
        assert rows(first, "SELECT key FROM priv.secret") == [(None,)]
        first.execute("CHECKPOINT")
    assert secret not in path.read_bytes()
    with duckdb_priv.connect(path, secret=secret) as second:
        second.execute(PUBLISH.format("again"))
        assert rows(second, "FROM again") == published


@pytest.mark.once
def test_without_the_callers_secret_nothing_is_keyed(hospital):
    with duckdb_priv.connect(hospital, secret=bytes(range(100, 132))) as first:
        first.execute(PEOPLE)
    with duckdb_priv.connect(hospital) as second:
        with pytest.raises(duckdb.InvalidInputException, match="kept by its owner\nHint: call"):
            second.execute(PUBLISH.format("r"))
        assert rows(second, "FROM priv.release") == []
        second.execute(
            "FROM priv.publish_uniform('people', 'r', sensitive := 's', retention := 0.5, public := [])"
        )


@pytest.mark.once
def test_another_secret_than_the_first_is_refused(con, hospital, secret):
    with pytest.raises(
        InvalidParameter, match="is not the one that this database has published with"
    ):
        duckdb_priv.install(con, secret=bytes(range(100, 132)))
    duckdb_priv.install(con, secret=secret)
    with duckdb_priv.connect(hospital) as stored:
        stored.execute(PEOPLE)
        stored.execute(PUBLISH.format("r"))
        with pytest.raises(InvalidParameter, match="is not the one") as caught:
            duckdb_priv.install(stored, secret=secret)
        assert secret.hex() not in str(caught.value)


@pytest.mark.parametrize("secret", [b"short", "x" * 32, 7])
def test_a_secret_of_another_form_is_refused(secret, tmp_path):
    with pytest.raises(InvalidParameter, match="a secret is 32 bytes"):
        duckdb_priv.connect(tmp_path / "hospital.duckdb", secret=secret)
    # The file is closed again, so someone else can open it.
    duckdb.connect(str(tmp_path / "hospital.duckdb")).close()

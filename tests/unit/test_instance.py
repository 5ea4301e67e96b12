"""Cursors of an instance whose connections are in use by other threads, or closed."""

from __future__ import annotations

import duckdb
import pytest

from duckdb_priv.engine import instance as module
from duckdb_priv.engine.instance import Instance
from duckdb_priv.errors import NotInstalled


class Busy(duckdb.Error):
    """What a connection in use raises."""


class Connection:
    """Refuses a cursor a few times."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def cursor(self):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def open_instance(monkeypatch):
    monkeypatch.setattr(module, "BUSY", (Busy,))

    def make(*connections):
        instance = Instance({}.__getitem__)
        instance.connections = list(connections)
        return instance

    return make


def test_a_connection_in_use_is_waited_for(open_instance):
    closed = duckdb.ConnectionException("closed")
    with duckdb.connect() as cursor:
        instance = open_instance(Connection(closed, closed), Connection(Busy("busy"), cursor))
        assert instance.cursor() is cursor


def test_a_closed_connection_is_not_waited_for(open_instance):
    instance = open_instance(Connection(duckdb.ConnectionException("closed")))
    with pytest.raises(NotInstalled, match=r"is closed\nHint: call duckdb_priv\.install"):
        instance.cursor()


def test_a_connection_that_stays_in_use_is_given_up(open_instance, monkeypatch):
    monkeypatch.setattr(module, "BUSY_WAIT", 0.02)
    instance = open_instance(Connection(*[Busy("busy")] * 1000))
    with pytest.raises(NotInstalled, match="is in use by another thread"):
        instance.cursor()

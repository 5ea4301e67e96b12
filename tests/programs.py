"""Programs that a test starts, stops and kills: forks of one that has imported everything, which takes a second."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import duckdb_priv

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        *("numpy.ma", "pyarrow.compute", "jinja2", "duckdb_priv.database", "duckdb_priv.shell.cli"),
        *(
            module.name
            for part in ("card", "methods", "publisher")
            for module in pkgutil.walk_packages(
                [str(Path(duckdb_priv.__file__).parent / part)], f"duckdb_priv.{part}."
            )
        ),
    ]
)


class Program:
    """A program in Python, started with arguments; what it prints is read line by line."""

    def __init__(self, text: str, *arguments: object) -> None:
        receiving, sending = _FORKS.Pipe(duplex=False)
        number, name = tempfile.mkstemp()
        os.close(number)
        self._errors = Path(name)
        given = (text, [*map(str, arguments)], sending, name)
        self._process = _FORKS.Process(target=_run, args=given)
        self._process.start()
        sending.close()
        self._output = os.fdopen(os.dup(receiving.fileno()), encoding="utf-8")
        receiving.close()

    def wait_until_it_prints(self, line: str) -> None:
        """Fail if the program ends or prints something else."""
        if self._output.readline() != line + "\n":
            raise AssertionError("".join(self.end(60)[1:]))

    def interrupt(self) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()
        self.end(60)

    def end(self, patience: float = 120) -> tuple[int, str, str]:
        """Wait for its end, and return its exit code, the rest of what it printed, and its errors."""
        self._process.join(patience)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            self._process.join()
        with self._output:
            printed = self._output.read()
        errors = self._errors.read_text("utf-8")
        self._errors.unlink()
        self._process.close()
        assert code is not None, f"it did not end: {errors}"
        return code, printed, errors


def run(text: str, *arguments: object) -> tuple[int, str, str]:
    """Run a program to its end, and return its exit code, what it printed, and its errors."""
    return Program(text, *arguments).end()


def _run(text: str, arguments: list[str], output: Connection, errors: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in (1, output.fileno()), (2, os.open(errors, os.O_WRONLY)):
        os.dup2(file, number)
    output.close()
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})

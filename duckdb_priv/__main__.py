"""Starts the command ``duckdb-priv``, also as ``python -m duckdb_priv``."""

from __future__ import annotations

import os
import sys

from duckdb_priv.shell.interrupts import INTERRUPTED, STOPPED, on_ctrl_c


def main() -> None:
    """Load the command, which takes a second, and run it. Ctrl-C while it loads ends the program at once."""
    with on_ctrl_c(_stop):
        from duckdb_priv.shell.cli import main as command
    command()


def _stop() -> None:
    # Libraries turn an exception during their import into one of their own. No file is open yet.
    os.write(sys.stderr.fileno(), f"{STOPPED}\n".encode())
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()

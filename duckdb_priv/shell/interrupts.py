"""Ctrl-C: what it does instead of raising KeyboardInterrupt, and how a program ends that it stopped.

This module loads no library, so that it works while the others load.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in other shells."""
STOPPED = "stopped"
"""The message after Ctrl-C."""


@contextmanager
def on_ctrl_c(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` on Ctrl-C instead of raising KeyboardInterrupt; for the main thread only.

    If SIGINT is ignored, as in background jobs of a shell, it stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        yield
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        act()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
